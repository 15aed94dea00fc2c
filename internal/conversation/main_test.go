package conversation

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/ncruces/go-sqlite3/driver"
)

// schema is what the server's conversations are made by (seed).
const schema = "CREATE TABLE `trajectory_meta` (`trajectory_id` text,`cascade_id` text,`trajectory_type` integer,`source` integer,PRIMARY KEY (`trajectory_id`));" +
	"CREATE TABLE `steps` (`idx` integer,`step_type` integer NOT NULL DEFAULT 0,`status` integer NOT NULL DEFAULT 0,`has_subtrajectory` numeric NOT NULL DEFAULT false,`metadata` blob,`error_details` blob,`permissions` blob,`task_details` blob,`render_info` blob,`step_payload` blob,`step_format` integer NOT NULL DEFAULT 0,PRIMARY KEY (`idx`));" +
	"CREATE TABLE `gen_metadata` (`idx` integer,`data` blob,`size` integer NOT NULL DEFAULT 0,PRIMARY KEY (`idx`));" +
	"CREATE TABLE `executor_metadata` (`idx` integer,`data` blob,PRIMARY KEY (`idx`));" +
	"CREATE TABLE `parent_references` (`idx` integer,`data` blob,PRIMARY KEY (`idx`));" +
	"CREATE TABLE `trajectory_metadata_blob` (`id` text DEFAULT \"main\",`data` blob,PRIMARY KEY (`id`));" +
	"CREATE TABLE `battle_mode_infos` (`idx` integer,`data` blob,PRIMARY KEY (`idx`));"

// bricked has two half-written checkpoints among its steps.
const bricked = schema + "INSERT INTO trajectory_meta VALUES('t','c',4,1);" +
	"INSERT INTO steps(idx,step_type,status,step_payload) VALUES(0,14,3,x'00ff0a'),(1,15,3,zeroblob(200000)),(2,101,2,NULL),(3,15,3,'text'),(4,101,2,x'');" +
	"INSERT INTO gen_metadata VALUES(0,x'0102',2);" +
	"INSERT INTO trajectory_metadata_blob(data) VALUES(x'68')"

const whole = schema + "INSERT INTO steps(idx,status) VALUES(0,3),(1,5)"

func needsProgram(t *testing.T) Program {
	t.Helper()
	p, err := FindProgram(t.Context())
	if err != nil {
		t.Skip(err)
	}
	return p
}

// conversation makes one by the given statements, with a library that is not the
// program under test.
func conversation(t *testing.T, statements string) File {
	t.Helper()
	return conversationIn(t, t.TempDir(), "4d5a6c89", statements)
}

func conversationIn(t *testing.T, home, id, statements string) File {
	t.Helper()
	if err := os.MkdirAll(Dir(home), 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(Dir(home), id+".db")
	db := library(t, path)
	if _, err := db.Exec("PRAGMA journal_mode=WAL;" + statements); err != nil {
		t.Fatal(err)
	}
	db.Close()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func library(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

// dump is all that a database holds, by the library.
func dump(t *testing.T, path string) (all []string) {
	t.Helper()
	db := library(t, path)
	defer db.Close()
	for _, table := range query(t, db, "SELECT name FROM sqlite_master WHERE type='table' ORDER BY name") {
		table = strings.Trim(table, "[]")
		for _, row := range query(t, db, "SELECT * FROM "+table) {
			all = append(all, table+" "+row)
		}
	}
	slices.Sort(all)
	return all
}

func query(t *testing.T, db *sql.DB, sql string) (list []string) {
	t.Helper()
	rows, err := db.Query(sql)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, _ := rows.Columns()
	for rows.Next() {
		values, at := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			at[i] = &values[i]
		}
		if err := rows.Scan(at...); err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprint(values))
	}
	if rows.Err() != nil {
		t.Fatal(rows.Err())
	}
	return list
}

// status are the steps' status, in their order.
func status(t *testing.T, path string) string {
	t.Helper()
	db := library(t, path)
	defer db.Close()
	return fmt.Sprint(query(t, db, "SELECT status FROM steps ORDER BY idx"))
}

// files are all files of a directory with their bytes.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range list {
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[f.Name()] = string(b)
	}
	return all
}

func names(m map[string]string) []string {
	var list []string
	for name := range m {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// copies are what repairs have left beside a conversation.
func copies(t *testing.T, f File) []string {
	t.Helper()
	var list []string
	for name := range files(t, filepath.Dir(f.Path)) {
		if strings.Contains(name, ".before-repair-") {
			list = append(list, filepath.Join(filepath.Dir(f.Path), name))
		}
	}
	return list
}

// repair runs one and returns what it said.
func repair(t *testing.T, r Repair) (string, error) {
	t.Helper()
	var said strings.Builder
	r.Step = func(line string) { fmt.Fprintln(&said, line) }
	err := r.Run(t.Context())
	return said.String(), err
}

func wants(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q is missing in:\n%s", w, text)
		}
	}
}

// writer is another process that has a conversation open.
type writer struct {
	cmd *exec.Cmd
}

// write starts the program on a database, which carries the statements out and
// stays there.
func write(t *testing.T, p Program, path, statements string) writer {
	t.Helper()
	w := writer{exec.CommandContext(context.Background(), p.Path, "-batch", "-bail", "-init", os.DevNull, path)}
	in, err := w.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.kill)
	fmt.Fprintf(in, "PRAGMA wal_autocheckpoint=0;\n%s;\nSELECT 'it is writ'||'ten';\n", statements)
	var said []byte
	buf := make([]byte, 1000)
	for !bytes.Contains(said, []byte("it is written")) {
		n, err := out.Read(buf)
		if err != nil {
			t.Fatalf("it said %q, %v", said, err)
		}
		said = append(said, buf[:n]...)
	}
	return w
}

func (w writer) kill() {
	w.cmd.Process.Kill()
	w.cmd.Wait()
}
