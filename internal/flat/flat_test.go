package flat

import (
	"fmt"
	"testing"
)

func TestOf(t *testing.T) {
	list, err := Of([]byte(` {"a":[1.0,{"\u0062":"x,:","b":{}}],"c" : [ ]} `))
	want := `[{[]  {} {[a] "a" [} {[a 0]  1.0} {[a 1]  {} {[a 1 b] "\u0062" "x,:"} {[a 1 b] "b" {} {[a 1 b]  }} {[a 1]  }} {[a]  ]} {[c] "c" [} {[c]  ]} {[]  }}]`
	if got := fmt.Sprint(list); err != nil || got != want {
		t.Errorf("%v, got\n%s\nwant\n%s", err, got, want)
	}
	for _, broken := range []string{``, `{`, `{"a":1}}`, `1 2`, `{} {}`, `[1,]`, `{"a" 1}`, `nul`} {
		if list, err := Of([]byte(broken)); err == nil {
			t.Errorf("%s: %v", broken, list)
		}
	}
}

func TestBeside(t *testing.T) {
	const text = `{"a":1,"b":[{"c":2},{"c":3}]}`
	for _, x := range []struct {
		after string
		ways  [][]string
		same  bool
	}{
		{text, nil, true},
		{` {"a" : 1, "b":[{"c":2},{"c":3}]}`, nil, true},
		{`{"a":1.0,"b":[{"c":2},{"c":3}]}`, nil, false},
		{`{"\u0061":1,"b":[{"c":2},{"c":3}]}`, nil, false},
		{`{"b":[{"c":2},{"c":3}],"a":1}`, nil, false},
		{`{"a":1,"a":1,"b":[{"c":2},{"c":3}]}`, nil, false},
		{`{"a":{"x":5},"b":[{"c":2},{"c":3}]}`, [][]string{{"a"}}, true},
		{`{"z":1,"b":[{"c":2},{"c":3}]}`, [][]string{{"a"}}, false},
		{`{"z":1,"b":[{"c":2},{"c":3}]}`, [][]string{{"a"}, {"z"}}, true},
		{`{"a":1,"b":[{"c":7},{"d":3}]}`, [][]string{{"b", "*", "c"}}, false},
		{`{"a":1,"b":[{"c":7},{"c":8}]}`, [][]string{{"b", "*", "c"}}, true},
		{`{"a":1,"b":[{"c":2}]}`, nil, false},
		{`{"a":1`, nil, false},
	} {
		if d := Beside([]byte(text), []byte(x.after), x.ways...); (d == "") != x.same {
			t.Errorf("%s beside %v: %q", x.after, x.ways, d)
		}
	}
}
