package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// publish serves a directory on the loopback: publish NAME DIR. The variable NAME
// is its address, which takes the place of $NAME in JSON files.
func publish(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: publish NAME DIR")
	}
	dir := ts.MkAbs(args[1])
	s := httptest.NewUnstartedServer(nil)
	url := "http://" + s.Listener.Addr().String()
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := filepath.Join(dir, filepath.FromSlash(r.URL.Path))
		if b, err := os.ReadFile(path); err == nil && strings.HasSuffix(path, ".json") {
			w.Write([]byte(strings.ReplaceAll(string(b), "$"+args[0], url)))
			return
		}
		http.ServeFile(w, r, path)
	})
	s.Start()
	ts.Defer(s.Close)
	ts.Setenv(args[0], url)
}
