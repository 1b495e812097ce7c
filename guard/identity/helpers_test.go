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
