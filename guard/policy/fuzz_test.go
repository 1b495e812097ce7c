package policy

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// FuzzParse holds Parse to its word: a policy that can be completed, or an Error whose problems all have a place.
func FuzzParse(f *testing.F) {
	f.Add([]byte(everything))
	files, _ := filepath.Glob("testdata/problems/*.yaml")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		begin := time.Now()
		p, err := Parse("p.yaml", data)
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("took %v for %d bytes", took, len(data))
		}
		if err == nil {
			if _, err := p.Complete(); err != nil {
				t.Errorf("parsed, but not complete: %v", err)
			}
			return
		}
		var e *Error
		if !errors.As(err, &e) || len(e.Problems) == 0 || p != nil {
			t.Fatalf("got %v, %v", p, err)
		}
		for _, problem := range e.Problems {
			if problem.Line < 1 || problem.Column < 1 || problem.Message == "" || problem.File != "p.yaml" {
				t.Errorf("no place: %+v", problem)
			}
		}
	})
}
