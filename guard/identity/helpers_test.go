package identity

import (
	"os"
	"path/filepath"
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

// keyFile returns a file with the RSA key r1.
func keyFile(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "jwks.json")
	write(t, path, jwks(t, jwk(rsaKey, "r1")), 0)
	return path
}

// poll does what the background does at a time.
func (r *Reader) poll(now time.Time) {
	for _, file := range r.files {
		if changed, err := file.Poll(now); changed || err != nil {
			r.report(file.Paths[0], err)
		}
	}
}
