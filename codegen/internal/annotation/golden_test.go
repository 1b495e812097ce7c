package annotation_test

import (
	"testing"
	"testing/fstest"

	"github.com/rlfunc/rlfunc/codegen/internal/annotation"
	"github.com/rlfunc/rlfunc/codegen/internal/diag"
	"github.com/rlfunc/rlfunc/codegen/internal/golden"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
)

func TestHeaders_golden(t *testing.T) {
	found := golden.Run(t, func(fsys fstest.MapFS) diag.List {
		_, found := source.Load(fsys, "functions", source.Options{})
		return found
	})
	seen := map[string]bool{}
	for _, d := range found {
		seen[d.Rule] = true
	}
	for _, rule := range annotation.Rules {
		if !seen[rule.ID] {
			t.Errorf("no golden case for rule %s", rule.ID)
		}
	}
}
