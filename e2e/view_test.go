//go:build linux

package e2e

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const demoCapture = "../fixtures/captures/demo-1.3.0.jsonl"

const (
	rows     = `document.querySelectorAll('#list .row:not([hidden])').length`
	selected = `document.querySelector('#list .row.sel .name')?.textContent`
	counted  = `document.getElementById('count').textContent`
	detail   = `document.querySelector('#detail h2')?.textContent`
	closed   = `document.getElementById('detail').hidden`
)

// TestView opens the page of the demo's capture and does with it what a user
// does.
func TestView(t *testing.T) {
	b := newBrowser(t, 1280, 800)
	b.open(viewed(t, demoCapture))
	b.is(counted, "66 lines")
	b.is(`document.title`, "demo-1.3.0.jsonl · acp-shim")
	b.is(rows+` > 20`, true)
	b.is(`[...document.querySelectorAll('.lane')].map(x => x.textContent).join()`, "client,shim,agent#1,agent#2,agent#3")

	// The keyboard moves, opens, and goes to the answer and back.
	b.keys("j", "j", "j")
	b.is(selected, "initialize")
	b.is(`document.getElementById(document.getElementById('list').getAttribute('aria-activedescendant')).getAttribute('aria-label')`,
		"0.0057 s, client to agent#1, request initialize, released: protocol 1")
	b.keys(kb.Enter)
	b.is(detail, "initialize")
	b.is(`document.querySelector('.seq')?.textContent`, "#3")
	b.keys("]")
	b.is(`document.querySelector('.seq')?.textContent`, "#5")
	b.keys("[")
	b.is(`document.querySelector('.seq')?.textContent`, "#1")
	b.keys(kb.Escape)
	b.is(closed, true)
	b.keys(kb.End)
	b.is(selected, "end")
	b.keys(kb.Home)
	b.is(selected, "initialize")

	// Filters: what was changed, a search, a search in the frames, a method.
	b.keys("c")
	b.is(counted, "5 of 66 lines")
	b.is(rows, 5)
	b.keys(kb.Escape)
	b.is(counted, "66 lines")
	b.do(chromedp.SendKeys(chromedp.CSS("#search"), "stopReason"))
	b.is(counted, "0 of 66 lines")
	b.do(chromedp.Click(chromedp.CSS("#whole")))
	b.is(counted, "4 of 66 lines")
	b.do(chromedp.Click(chromedp.CSS("#clear")))
	b.do(chromedp.SetValue(chromedp.CSS("#method"), "tool_call"))
	b.js(`document.getElementById('method').dispatchEvent(new Event('change'))`)
	b.is(counted, "1 of 66 lines")
	b.do(chromedp.Click(chromedp.CSS("#clear")))

	// A rewrite is shown as a difference.
	b.do(chromedp.Click(chromedp.CSS("#changed")))
	b.is(rows, 5)
	b.js(`[...document.querySelectorAll('#list .row:not([hidden])')].find(r => r.querySelector('.name').textContent === 'session/set_config_option').click()`)
	b.is(detail, "session/set_config_option")
	b.is(`[...document.querySelectorAll('.dl.del')].map(x => x.textContent.trim()).join('|')`, `−    "configOptionId": "model"`)
	b.is(`[...document.querySelectorAll('.dl.add')].map(x => x.textContent.trim()).join('|')`, `+    "configId": "model"`)
	b.is(`document.querySelector('.json')?.textContent.includes('"gemini-3.8-flash-low"')`, true)
	b.do(chromedp.Click(chromedp.CSS("#clear")))
	b.shot("first")

	// The other views.
	b.keys(kb.Escape, "2")
	b.is(`[...document.querySelectorAll('.fall:not([hidden]) .w-kind')].map(x => x.textContent).join()`, "turn,tool,turn,turn,restore,turn")
	b.shot("waterfall")
	b.keys("3")
	b.is(`document.querySelectorAll('.chart').length`, 3)
	b.is(`document.querySelectorAll('.dot').length`, 3)
	b.shot("charts")
	b.do(chromedp.Click(chromedp.CSS("#squeeze")))
	b.is(`document.querySelector('.chart text:nth-of-type(5)').textContent`, "117 ms") // to scale now
	b.keys("s", "1", "?")
	b.is(`document.getElementById('help').open`, true)
	b.shot("help")
	b.keys(kb.Escape)
	b.is(`document.getElementById('help').open`, false)

	// A range of time is drawn in the overview.
	b.js(`(() => {
		const c = document.getElementById('overview'), at = c.getBoundingClientRect();
		c.setPointerCapture = () => {};
		for (const [type, x] of [['pointerdown', 14], ['pointermove', 200], ['pointerup', 200]])
			c.dispatchEvent(new PointerEvent(type, {clientX: at.left + x, clientY: at.top + 20, pointerId: 1}));
	})()`)
	b.is(counted+`.endsWith(' of 66 lines')`, true)
	b.do(chromedp.Click(chromedp.CSS("#clear")))
	b.is(counted, "66 lines")
	b.quiet()
}

// TestViewNothing has pages with one line and with none.
func TestViewNothing(t *testing.T) {
	b := newBrowser(t, 1280, 800)
	b.open(viewed(t, demoCapture, "--from-seq", "1000"))
	b.is(counted, "0 lines")
	b.is(`document.getElementById('empty').checkVisibility()`, true)
	b.keys("j", kb.End, kb.Enter, "[", "]", "2", "j", "3", "s", "1", "c", kb.Escape)
	b.is(closed, true)
	b.quiet()

	b = newBrowser(t, 1280, 800)
	b.open(viewed(t, demoCapture, "--from-seq", "11", "--max-frames", "1"))
	b.is(counted, "1 line")
	b.is(`document.getElementById('notes').textContent.startsWith('This is a window: it ends at 1 line, and the capture goes on.')`, true)
	b.keys("j", kb.Enter, "]")
	b.is(detail, "session/set_config_option")
	b.is(counted, "No answer is here.")
	b.keys("2", "3", "s", "1")
	b.is(counted, "1 line")
	b.quiet()
}

// TestViewThemes has the page light and dark, by the system's wish and by the
// user's, and small.
func TestViewThemes(t *testing.T) {
	b := newBrowser(t, 1280, 800)
	prefers := func(v string) {
		command(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: v}}})
	}
	ground := `getComputedStyle(document.body).backgroundColor`
	prefers("dark")
	b.open(viewed(t, demoCapture))
	b.is(ground, "rgb(19, 20, 23)")
	// What the shim asks the next process, to bring the session back.
	b.keys(kb.End)
	b.is(selected, "end")
	b.js(`[...document.querySelectorAll('#list .row:not([hidden])')].find(r => r.ariaLabel.includes('shim to agent#2, request session/set_config_option')).click()`)
	b.is(`document.querySelector('.seq')?.textContent`, "#43")
	b.is(`[...document.querySelectorAll('.badge')].map(x => x.textContent).join()`, "changed,made by the shim")
	b.js(`document.getElementById('list').scrollTop = 460`)
	b.shot("dark")
	prefers("light")
	b.shot("light")
	b.is(ground, "rgb(247, 247, 245)")
	b.keys("t")
	b.is(ground, "rgb(19, 20, 23)")
	b.is(`document.getElementById('theme').textContent`, "◐ Dark")
	for _, theme := range []string{"dark", "light"} {
		b.is(`document.documentElement.dataset.theme`, theme)
		b.is(contrast, "")
		b.keys("t")
	}
	b.quiet()

	// On a phone nothing is wider than the screen, and the detail covers it.
	small := newBrowser(t, 390, 780)
	small.open(viewed(t, demoCapture))
	small.is(`document.documentElement.scrollWidth`, 390)
	small.is(rows+` > 5`, true)
	small.shot("phone")
	small.js(`document.querySelectorAll('#list .row')[5].click()`)
	small.is(`document.getElementById('detail').getBoundingClientRect().width`, 390)
	small.shot("phone-detail")
	small.quiet()
}

// contrast lists what is not told well from its ground: WCAG wants 4.5 for text.
const contrast = `(() => {
	const rgb = s => { const m = s.match(/[\d.]+/g).map(Number); return m.length > 3 && m[3] === 0 ? null : m; };
	const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
	const bad = new Set();
	for (const e of document.querySelectorAll('body *')) {
		if (!e.checkVisibility() || ![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || e.closest('svg, option, script, style')) continue;
		let g = e, ground = null;
		while (g && !(ground = rgb(getComputedStyle(g).backgroundColor))) g = g.parentElement;
		const a = light(rgb(getComputedStyle(e).color)), b = light(ground);
		const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
		if (ratio < 4.5) bad.add((e.className || e.tagName) + ' ' + ratio.toFixed(1));
	}
	return [...bad].join(', ');
})()`

// TestViewHostile has a capture that tries everything to run in the page.
func TestViewHostile(t *testing.T) {
	evil := `</script><script>canary=1</script><!--<script><img src=x onerror=canary=1>\u2028\u001b[31m\u0000\u202e javascript:canary=1`
	path := filepath.Join(t.TempDir(), "<img src=x onerror=canary=1>.jsonl")
	capture := header + strings.Join([]string{
		`{"seq":1,"t":1000,"from":"client","to":"agent#1","frame":{"id":"EVIL","method":"EVIL","params":{"sessionId":"EVIL","EVIL":["EVIL",{"__proto__":"EVIL"}]}},"edits":[{"at":7,"old":"EVIL","new":"EVIL"}]}`,
		`{"seq":2,"t":2000,"from":"agent#1","to":"client","frame":{"id":"EVIL","error":{"code":1,"message":"EVIL"}},"why":"EVIL"}`,
		`{"seq":3,"t":3000,"event":"EVIL","agent":"agent#1","session":"EVIL","text":"EVIL","data":{"a":"EVIL"}}`,
		`{"seq":4,"t":4000,"from":"agent#1","to":"client","text":"EVIL"}`,
		`{"seq":5,"t":5000,"from":"client","to":"agent#1","frame":{"id":7,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"EVIL"}]}}}`,
		`{"seq":6,"t":6000,"from":"agent#1","to":"client","frame":{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"EVIL","title":"EVIL","status":"EVIL"}}}}`,
		`{"seq":7,"t":7000,"from":"agent#1","to":"client","frame":{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + strings.Repeat("</script> \\n", 5<<20/12) + `"}}}}}`,
		`{"seq":8,"t":8000,"from":"agent#1","to":"client","frame":` + strings.Repeat("[", 900) + strings.Repeat("]", 900) + `}`,
		`{"seq":9,"t":9000,"from":"agent#1","to":"client","frame":{"jsonrpc":"2.0","id":7,"result":{"stopReason":"EVIL"}}}`,
	}, "\n")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(capture, "EVIL", evil)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, 1280, 800)
	b.open(viewed(t, path))
	b.is(rows, 9)
	// Everything that can be opened is opened.
	for i := range 9 {
		b.js(fmt.Sprintf(`document.querySelectorAll('#list .row')[%d].click()`, i))
		b.is(`document.querySelector('.seq')?.textContent`, fmt.Sprintf("#%d", i+1))
		b.js(`for (const x of document.querySelectorAll('#detail .part-head button, #detail .more')) x.click()`)
	}
	b.do(chromedp.SendKeys(chromedp.CSS("#search"), "onerror"))
	b.is(counted+`.includes(' of 9 lines')`, true)
	b.do(chromedp.Click(chromedp.CSS("#whole")))
	b.is(counted, "7 of 9 lines")
	b.keys(kb.Escape, "2", "3", "1")
	b.is(`typeof canary`, "undefined")
	b.is(`document.images.length + document.querySelectorAll('script:not([type])').length`, 1)
	b.is(`document.body.innerText.includes('\u202e') || document.body.innerText.includes('\x1b')`, false)
	b.quiet()
	// The browser itself refuses what the page does not do.
	b.is(`(() => { try { document.body.innerHTML = '<b>'; return false } catch { return true } })()`, true)
	b.is(`(() => { try { document.createElement('b').setAttribute('onclick', 'canary=1'); return false } catch { return true } })()`, true)
	b.is(`typeof canary`, "undefined")
}

const header = `{"format":"acp-shim-capture","version":1,"start":"2026-11-30T11:20:00Z","shim":"0","pid":1,"redacted":true,"agent":{"name":"agy"}}` + "\n"

// manyFrames writes a capture of turns of chunks and tools.
func manyFrames(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "many.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	w.WriteString(header)
	rng := rand.New(rand.NewPCG(1, 2))
	words := func() string {
		var text strings.Builder
		for range 30 {
			fmt.Fprintf(&text, "%x ", rng.Uint32())
		}
		return text.String()
	}
	update := `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s%d","update":{"sessionUpdate":%s}}}`
	for seq := 1; seq <= n; seq++ {
		turn, at := seq/200, seq%200
		frame, from, to := "", "agent#1", "client"
		switch {
		case at == 0:
			from, to = to, from
			frame = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":"s%d","prompt":[{"type":"text","text":"turn %d"}]}}`, turn, turn%7, turn)
		case at == 199:
			frame = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"stopReason":"end_turn"}}`, turn)
		case at%40 == 10:
			frame = fmt.Sprintf(update, turn%7, fmt.Sprintf(`"tool_call","toolCallId":"t%d","title":"Read file %d","kind":"read","status":"pending"`, seq, seq))
		case at%40 == 20:
			frame = fmt.Sprintf(update, turn%7, fmt.Sprintf(`"tool_call_update","toolCallId":"t%d","status":"completed","content":[{"type":"content","content":{"type":"text","text":"line %d"}}]`, seq-10, seq))
		case at%50 == 30:
			frame = fmt.Sprintf(update, turn%7, fmt.Sprintf(`"usage_update","used":%d,"size":1048576`, seq))
		default:
			frame = fmt.Sprintf(update, turn%7, fmt.Sprintf(`"agent_message_chunk","content":{"type":"text","text":"words %d of the answer %s"}`, seq, words()))
		}
		fmt.Fprintf(w, `{"seq":%d,"t":%d,"from":%q,"to":%q,"frame":%s}`+"\n", seq, seq*3_000_000+(turn*800_000_000), from, to, frame)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestViewLarge measures a page of 100,000 frames in the page itself.
func TestViewLarge(t *testing.T) {
	page := viewed(t, manyFrames(t, 100_000))
	info, err := os.Stat(page)
	if err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, 1280, 800)
	b.open(page)
	b.keys("f") // every frame a row
	b.is(counted, "100\u202f000 lines")
	b.is(`document.querySelector('#list .row').getAttribute('aria-setsize')`, "100000")
	first := eval[struct{ Paint, Shown float64 }](b, `({Paint: performance.getEntriesByName('first-contentful-paint')[0].startTime, Shown: performance.getEntriesByName('shown')[0].startTime})`)
	// Others use the machine, too: the best of three is what the page needs.
	measure := func(step string) float64 {
		longest := scrolled(b, step)
		for range 2 {
			if longest > 40 {
				longest = min(longest, scrolled(b, step))
			}
		}
		return longest
	}
	slowly, wildly := measure(`list.scrollTop + 120`), measure(`(n * 7919 % 241) / 241 * list.scrollHeight`)
	b.keys(kb.End)
	b.is(`document.querySelector('#list .row.sel')?.getAttribute('aria-posinset')`, "100000")
	b.shot("large")
	b.keys("2")
	b.is(`document.querySelectorAll('.fall:not([hidden])').length > 10`, true)
	b.shot("large-waterfall")
	b.keys("3")
	b.is(`document.querySelectorAll('.chart').length`, 3)
	b.shot("large-charts")
	b.keys("1")
	b.do(chromedp.SendKeys(chromedp.CSS("#search"), "answer"))
	search := eval[float64](b, `new Promise(done => {
		const t = performance.now();
		document.getElementById('whole').click();
		let began = false;
		const look = () => {
			const busy = document.getElementById('count').textContent.includes('searching');
			began ||= busy;
			if (began && !busy) done(performance.now() - t);
			else requestAnimationFrame(look);
		};
		requestAnimationFrame(look);
	})`)
	t.Logf("100000 frames: page of %.1f MB, first paint %.0f ms, lines shown %.0f ms, longest frame of scrolling %.0f ms, of jumping about %.0f ms, search in all frames %.0f ms",
		float64(info.Size())/1e6, first.Paint, first.Shown, slowly, wildly, search)
	if first.Paint > 2000 || first.Shown > 2000 {
		t.Errorf("the first paint came after %.0f ms, the lines after %.0f ms", first.Paint, first.Shown)
	}
	if slowly > 50 || wildly > 50 {
		t.Errorf("a frame of scrolling took %.0f ms, of jumping %.0f ms", slowly, wildly)
	}
	b.quiet()
}

// scrolled is the longest time between two frames of 240 while the list scrolls, in
// milliseconds.
func scrolled(b *browser, step string) float64 {
	return eval[float64](b, `new Promise(done => {
			const list = document.getElementById('list');
			let last = 0, longest = 0, n = 0;
			const frame = t => {
				if (n > 1) longest = Math.max(longest, t - last);
				last = t;
				if (++n > 240) return done(longest);
				list.scrollTop = `+step+`;
				requestAnimationFrame(frame);
			};
			requestAnimationFrame(frame);
		})`)
}
