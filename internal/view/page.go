package view

import (
	"bufio"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"sync"
)

// Marker begins every page, so that one is known before it is overwritten.
const Marker = "<!doctype html>\n<!-- a capture of acp-shim; it holds what client and agent said -->\n"

//go:embed page
var files embed.FS

// scripts are the parts of the page's one script, in the order of their needs.
var scripts = []string{
	"names.js", "data.js", "theme.js", "json.js", "diff.js", "filter.js", "arrow.js", "list.js", "detail.js", "overview.js",
	"waterfall.js", "charts.js", "keys.js", "main.js",
}

// shell is what every page has in common.
type shell struct{ style, script, body, policy string }

// parts builds the shell once.
var parts = sync.OnceValue(func() shell {
	text := func(name string) string {
		b, err := files.ReadFile("page/" + name)
		if err != nil {
			panic(err) // it is embedded
		}
		return string(b)
	}
	var js strings.Builder
	js.WriteString("'use strict';\n(() => {\n")
	for _, name := range scripts {
		js.WriteString(text(name))
	}
	js.WriteString("})();\n")
	s := shell{style: text("style.css"), script: js.String(), body: text("body.html")}
	hash := func(t string) string {
		sum := sha256.Sum256([]byte(t))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	s.policy = "default-src 'none'; script-src " + hash(s.script) + "; style-src " + hash(s.style) +
		"; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
	return s
})

// WriteTo writes the page. The script comes before the blocks of frames, so that
// a browser shows the first lines while it still reads.
func (p *Page) WriteTo(to io.Writer) (int64, error) {
	if err := p.flush(); err != nil {
		return 0, err
	}
	index, err := p.index()
	if err != nil {
		return 0, err
	}
	s := parts()
	w := &counted{w: bufio.NewWriterSize(to, 256<<10)}
	fmt.Fprintf(w, `%s<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>acp-shim view</title>
<style>%s</style></head>
<body>
%s`, Marker, s.policy, s.style, s.body)
	for i, part := range []string{"head", "cols"} {
		fmt.Fprintf(w, "<script type=\"application/octet-stream\" id=\"%s\">%s</script>\n", part, index[i])
	}
	fmt.Fprintf(w, "<script>%s</script>\n", s.script)
	if err := p.spool.copyTo(w); err != nil {
		return w.n, err
	}
	fmt.Fprint(w, "</body></html>\n")
	if err := w.w.Flush(); w.err == nil {
		w.err = err
	}
	if w.err != nil {
		return w.n, fmt.Errorf("writing the page: %w", w.err)
	}
	return w.n, nil
}

// counted keeps the first error, and counts.
type counted struct {
	w   *bufio.Writer
	n   int64
	err error
}

func (c *counted) Write(b []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.w.Write(b)
	c.n += int64(n)
	c.err = err
	return n, err
}
