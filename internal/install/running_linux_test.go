package install

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

func TestRemoveOfWhatRuns(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	w := newWorld(t)
	list := good()
	list[0].text = "#!" + sh + "\necho ready\nread line\n"
	file := w.file(stamped, zipOf(t, list))
	w.must(Request{File: file})
	w.must(Request{File: file, Build: "1.3.0"})
	cmd := exec.Command(filepath.Join(w.in.Root.build("1.2.1"), serverPar))
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	_, err = w.in.Root.Remove("1.2.1", false)
	fails(t, err, "is running (pid "+strconv.Itoa(cmd.Process.Pid)+")")
	if _, err := w.in.Root.Remove("1.2.1", true); err != nil {
		t.Error(err)
	}
}
