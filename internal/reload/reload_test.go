package reload

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
