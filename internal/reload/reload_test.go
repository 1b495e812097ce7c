package reload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// write writes a file with a time of one hour ago, plus an offset.
func write(t testing.TB, path, content string, age time.Duration) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(age - time.Hour)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

func TestFile_appliesEachContentOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	var applied []string
	f := File(path, 10, func(content []byte) error {
		if strings.HasPrefix(string(content), "bad") {
			return errors.New("bad content")
		}
		applied = append(applied, string(content))
		return nil
	})
	write(t, path, "one", 0)
	if err := f.Load(); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name    string
		do      func()
		changed bool
		err     string
	}{
		{"nothing happened", func() {}, false, ""},
		{"touched", func() { write(t, path, "one", time.Second) }, false, ""},
		{"other content", func() { write(t, path, "two", 2*time.Second) }, true, ""},
		{"bad content", func() { write(t, path, "bad", 3*time.Second) }, false, "bad content"},
		{"still bad", func() {}, false, ""},
		{"touched and still bad", func() { write(t, path, "bad", 4*time.Second) }, false, ""},
		{"good again", func() { write(t, path, "two", 5*time.Second) }, true, ""},
		{"too large", func() { write(t, path, "12345678901", 6*time.Second) }, false, "read " + path + ": larger than 10 bytes"},
		{"the largest", func() { write(t, path, "1234567890", 7*time.Second) }, true, ""},
		{"missing", func() { os.Remove(path) }, false, "stat " + path + ": no such file or directory"},
		{"still missing", func() {}, false, ""},
		{"a folder", func() { os.Mkdir(path, 0o700) }, false, "read " + path + ": not a regular file"},
		{"as before", func() { os.Remove(path); write(t, path, "1234567890", 8*time.Second) }, true, ""},
		{"renamed over", func() { write(t, path+"2", "three", 8*time.Second); os.Rename(path+"2", path) }, true, ""},
	} {
		step.do()
		changed, err := f.Poll(time.Now().Add(settle)) // the folder may be new
		text := ""
		if err != nil {
			text = err.Error()
		}
		if changed != step.changed || text != step.err {
			t.Errorf("%s: got %v, %v", step.name, changed, err)
		}
	}
	if got := strings.Join(applied, " "); got != "one two two 1234567890 three" {
		t.Errorf("applied %s", got)
	}
}

// Poll skips a file that was just written, and reads a file again if its time could hide a second write.
func TestFile_doesNotMissAWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	last := ""
	f := File(path, 10, func(content []byte) error { last = string(content); return nil })
	write(t, path, "one", 0)
	if err := f.Load(); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-30 * time.Minute)
	set := func(content string) {
		write(t, path, content, 0)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	set("two")
	for _, step := range []struct {
		after time.Duration
		want  string
	}{{0, "one"}, {settle - 1, "one"}, {settle, "two"}} {
		if _, err := f.Poll(at.Add(step.after)); err != nil || last != step.want {
			t.Errorf("after %v: %q, %v", step.after, last, err)
		}
	}
	set("2nd") // same size and time
	if changed, err := f.Poll(at.Add(coarse)); !changed || err != nil || last != "2nd" {
		t.Errorf("got %v, %v, %q", changed, err, last)
	}
}

// All reads files that were just written, tries invalid content again, and reports each error, however often.
func TestAll(t *testing.T) {
	dir := t.TempDir()
	needs := filepath.Join(dir, "needs")
	var reports []string
	files := map[string]*Files{}
	for _, name := range []string{"keys", "policy", "same"} {
		path := filepath.Join(dir, name)
		write(t, path, "good", 0)
		files[name] = File(path, 10, func(content []byte) error {
			if _, err := os.Stat(needs); string(content) == "needs" && err != nil {
				return errors.New("something is missing")
			}
			return nil
		})
		if err := files[name].Load(); err != nil {
			t.Fatal(err)
		}
	}
	ctx, end := context.WithCancel(t.Context())
	for _, followed := range [][]*Files{{files["keys"], files["policy"]}, {files["same"]}, {files["keys"]}} {
		Follow(ctx, time.Hour, func(path string, err error) { reports = append(reports, fmt.Sprint(filepath.Base(path), " ", err)) }, followed...)
	}
	for _, step := range []struct {
		do   func()
		want []string
	}{
		{func() {}, []string{"", "keys policy same", ""}},
		{func() { os.WriteFile(files["policy"].Paths[0], []byte("new"), 0o600) }, []string{"policy", "keys same", "", "policy <nil>"}},
		{func() { os.WriteFile(files["policy"].Paths[0], []byte("needs"), 0o600) }, []string{"", "keys same", "policy", "policy something is missing"}},
		{func() {}, []string{"", "keys same", "policy", "policy something is missing"}},
		{func() { os.WriteFile(needs, nil, 0o600) }, []string{"policy", "keys same", "", "policy <nil>"}},
		{func() { os.Remove(needs) }, []string{"", "keys policy same", ""}},
		{func() { os.WriteFile(files["keys"].Paths[0], []byte("new"), 0o600) }, []string{"keys", "policy same", "", "keys <nil>"}},
	} {
		reports = nil
		step.do()
		changed, unchanged, failed := All()
		var got []string
		for _, paths := range [][]string{changed, unchanged, failed} {
			for i := range paths {
				paths[i] = filepath.Base(paths[i])
			}
			got = append(got, strings.Join(paths, " "))
		}
		if diff := cmp.Diff(step.want, append(got, reports...)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	end()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		changed, unchanged, failed := All()
		if len(changed)+len(unchanged)+len(failed) == 0 {
			return
		} else if time.Now().After(deadline) {
			t.Fatalf("after 20 s these are still followed: %v %v %v", changed, unchanged, failed)
		}
	}
}
