package policy

import (
	"cmp"
	"errors"
	"testing"
	"time"
)

// FuzzParse checks that Parse returns a policy that can be completed, or an Error whose problems all have a position.
func FuzzParse(f *testing.F) {
	f.Add([]byte(everything))
	for _, file := range problemFiles(f).Files {
		f.Add(file.Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		begin := time.Now()
		p, err := Parse("p.yaml", data)
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("took %v for %d bytes", took, len(data))
		}
		if err == nil {
			complete, err := p.Complete()
			if err != nil {
				t.Fatalf("parsed, but not complete: %v", err)
			}
			for name := range cmp.Or(complete.Plans, &Plans{}).Named {
				if plan := complete.ForPlan(name); plan == complete || plan.Check() != nil {
					t.Errorf("%s: %v", name, plan.Check())
				}
			}
			return
		}
		var e *Error
		if !errors.As(err, &e) || len(e.Problems) == 0 || p != nil {
			t.Fatalf("got %v, %v", p, err)
		}
		for _, problem := range e.Problems {
			if problem.Line < 1 || problem.Column < 1 || problem.Message == "" || problem.File != "p.yaml" {
				t.Errorf("no position: %+v", problem)
			}
		}
	})
}
