package probe

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	report := func(gates ...Result) *Report { return &Report{Format: Format, Version: Version, Gates: gates} }
	result := func(id string, v Verdict, why string, figures []Number, facts ...string) Result {
		r := Result{About: About{ID: id}, Verdict: v, Why: why, Figures: figures, Facts: map[string]string{}}
		for i := 0; i < len(facts); i += 2 {
			r.Facts[facts[i]] = facts[i+1]
		}
		return r
	}
	ms := func(v float64) []Number { return []Number{{"t", v, "ms"}} }
	for _, c := range []struct {
		name     string
		old, now *Report
		want     string
	}{
		{"nothing", report(result("A", Pass, "", ms(10), "x", "1")), report(result("A", Pass, "", ms(300), "x", "1")), ""},
		{"better", report(result("D", Fallback, "", nil)), report(result("D", Pass, "", nil)), "D verdict: FALLBACK → PASS better"},
		{"worse", report(result("D", Fallback, "", nil)), report(result("D", Fail, "", nil)), "D verdict: FALLBACK → FAIL worse"},
		{"not offered any more", report(result("load", Pass, "", nil)), report(result("load", NotRun, WhyNotOffered, nil)), "load verdict: PASS → NOT-RUN changed"},
		{"no quota", report(result("D", Pass, "", nil)), report(result("D", NotRun, WhyQuota, nil)), "not compared: D"},
		{"not asked for", report(result("D", Pass, "", nil), result("E", Pass, "", nil)), report(result("D", Pass, "", nil)), "not compared: E"},
		{"new", report(result("D", Pass, "", nil)), report(result("D", Pass, "", nil), result("E", Pass, "", nil)), "not compared: E"},
		{"one side could spend quota", &Report{Live: true, Gates: []Result{result("A", Pass, "", nil, "x", "1", "in a turn", "2")}}, report(result("A", Pass, "", nil, "x", "1")), ""},
		{"it differs all the same", &Report{Live: true, Gates: []Result{result("A", Pass, "", nil, "x", "1")}}, report(result("A", Pass, "", nil, "x", "2")), "A fact x: 1 → 2 changed"},
		{"slower", report(result("E", Pass, "", ms(1000))), report(result("E", Pass, "", ms(2000))), "E figure t: 1.0 s → 2.0 s worse"},
		{"faster", report(result("E", Pass, "", ms(2000))), report(result("E", Pass, "", ms(1000))), "E figure t: 2.0 s → 1.0 s better"},
		{"within noise", report(result("E", Pass, "", ms(2000))), report(result("E", Pass, "", ms(2900))), ""},
		{"larger", report(result("E", Pass, "", []Number{{"rss", 300 << 20, "bytes"}})), report(result("E", Pass, "", []Number{{"rss", 400 << 20, "bytes"}})), "E figure rss: 300 MiB → 400 MiB worse"},
		{"count", report(result("E", Pass, "", []Number{{"n", 2, "count"}})), report(result("E", Pass, "", []Number{{"n", 9, "count"}})), "E figure n: 2 → 9 changed"},
		{"other unit", report(result("E", Pass, "", []Number{{"n", 2, "count"}})), report(result("E", Pass, "", ms(9000))), ""},
		{"facts", report(result("A", Pass, "", nil, "x", "1", "gone", "2")), report(result("A", Pass, "", nil, "x", "3", "new", "4")),
			"A fact gone: 2 → not known changed; A fact new: not known → 4 changed; A fact x: 1 → 3 changed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Compare(c.old, c.now)
			var list []string
			for _, x := range got.Changes {
				list = append(list, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s", x.Gate, x.Kind, x.Name)), " ")+fmt.Sprintf(": %s → %s %s", x.Old, x.New, x.Way))
			}
			if len(got.NotCompared) > 0 {
				list = append(list, "not compared: "+strings.Join(got.NotCompared, " "))
			}
			if text := strings.Join(list, "; "); text != c.want {
				t.Errorf("%s\nwant\n%s", text, c.want)
			}
		})
	}
}

func TestChosen(t *testing.T) {
	names := func(list []*gate) (all []string) {
		for _, g := range list {
			all = append(all, g.id)
		}
		return all
	}
	for ask, want := range map[string]string{"D": "D D.tool D.load D.id", "d.tool": "D.tool", "load": "load load.closed load.elsewhere", "E.memory": "E.memory"} {
		list, unknown := chosen([]string{ask})
		if got := strings.Join(names(list), " "); got != want || len(unknown) > 0 {
			t.Errorf("%s: %s, %v", ask, got, unknown)
		}
	}
	if _, unknown := chosen([]string{"A", "AA", "A."}); !slices.Equal(unknown, []string{"AA", "A."}) {
		t.Error(unknown)
	}
	seen := map[string]bool{}
	for _, g := range Gates() {
		if seen[g.ID] || g.Title == "" || g.Criterion == "" || g.Source == "" {
			t.Errorf("%+v", g)
		}
		seen[g.ID] = true
	}
}

func TestIDForm(t *testing.T) {
	for id, want := range map[string]string{
		"": "empty", "33eb71a033eb71a033eb71a033eb71a0": "32 hex digits", "s1:7": "<sessionId>:N", "call_859008": "call_N",
		"4d5a6c89-0be5-4d98-ac4d-dede75c780fe": "UUID", "interaction_33eb71a033eb": "interaction_<hex>", "child:12": "child:N",
	} {
		if got := idForm(id, "s1"); got != want {
			t.Errorf("%q: %q, want %q", id, got, want)
		}
	}
}

// TestReportMembers holds the names in a report, which programs read.
func TestReportMembers(t *testing.T) {
	r := Report{Format: Format, Version: Version, Shim: "s", Live: true, Capture: "c", Left: []string{"x"},
		Agent: Agent{Argv: []string{"a"}, Info: []byte(`{}`), Capabilities: []byte(`{}`)},
		Gates: []Result{{About: Gates()[0], Verdict: Pass, Figure: "f", Why: WhyQuota, Next: "n", Figures: []Number{{"n", 1, "ms"}},
			Facts: map[string]string{"k": "v"}, Proofs: []Proof{{1, "client", "{}"}}, TookMS: 1}}}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"format":"acp-shim-probe","version":1,"shim":"s","time":"0001-01-01T00:00:00Z","agent":{"argv":["a"],"info":{},"capabilities":{}},` +
		`"live":true,"capture":"c","gates":[{"id":"hello","title":"handshake","criterion":"initialize is answered with protocolVersion, agentCapabilities and authMethods",` +
		`"source":"agentclientprotocol.com/protocol/initialization","live":false,"verdict":"PASS","figure":"f","why":"quota","next":"n",` +
		`"figures":[{"name":"n","value":1,"unit":"ms"}],"facts":{"k":"v"},"proofs":[{"seq":1,"from":"client","text":"{}"}],"tookMs":1}],"left":["x"]}`
	if string(b) != want {
		t.Errorf("%s\nwant\n%s", b, want)
	}
}
