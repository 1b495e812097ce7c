package identity

import (
	"os"
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

// poll does what the background does at a time.
func (r *Reader) poll(now time.Time) {
	for _, file := range r.files {
		if changed, err := file.Poll(now); changed || err != nil {
			r.report(file.Paths[0], err)
		}
	}
}
