package textfile

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "real", "a"), filepath.Join(dir, "link")
	if os.Mkdir(filepath.Dir(path), 0o755) != nil || os.WriteFile(path, []byte("old"), 0o644) != nil || os.Symlink(path, link) != nil {
		t.Fatal("the files could not be made")
	}
	if err := Write(link, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	b, _ := os.ReadFile(path)
	info, _ := os.Stat(path)
	if to, err := os.Readlink(link); string(b) != "new" || info.Mode().Perm() != 0o600 || err != nil || to != path {
		t.Errorf("%q %v %q %v", b, info.Mode(), to, err)
	}
	// What cannot be written leaves nothing behind, and what was there as it was.
	if err := os.Mkdir(filepath.Join(dir, "directory"), 0o755); err != nil {
		t.Fatal(err)
	}
	if Write(filepath.Join(dir, "directory"), nil, 0o600) == nil {
		t.Error("a directory was replaced")
	}
	if list, _ := os.ReadDir(dir); len(list) != 3 {
		t.Errorf("left behind: %v", list)
	}
}
