// Package scripts has commands for testscript that stand for what a user has
// besides the program: a browser in which somebody logs in, archives.
//
// It is for tests, of this module and of the one in e2e, and owns nothing of what
// they test.
package scripts

import (
	"archive/zip"
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// patience bounds every wait.
const patience = 30 * time.Second

// Browse waits for a login page in a file, and logs in there as somebody with a
// browser does: browse FILE.
func Browse(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: browse FILE")
	}
	back := regexp.MustCompile(`redirect_uri=http%3A%2F%2F127\.0\.0\.1%3A([0-9]+)%2F`)
	for limit := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		b, _ := os.ReadFile(ts.MkAbs(args[0]))
		if m := back.FindSubmatch(b); m != nil {
			r, err := http.Get(fmt.Sprintf("http://127.0.0.1:%s/?code=abc", m[1]))
			ts.Check(err)
			r.Body.Close()
			return
		}
		if time.Now().After(limit) {
			ts.Fatalf("no login page is in %s:\n%s", args[0], b)
		}
	}
}

// Zip makes an archive: zip ARCHIVE FILE... A file is called in it as here.
func Zip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: zip ARCHIVE FILE...")
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range args[1:] {
		f, err := w.Create(name)
		ts.Check(err)
		_, err = f.Write([]byte(ts.ReadFile(name)))
		ts.Check(err)
	}
	ts.Check(w.Close())
	ts.Check(os.MkdirAll(filepath.Dir(ts.MkAbs(args[0])), 0o755))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o644))
}
