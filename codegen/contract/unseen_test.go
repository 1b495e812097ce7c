package contract_test

import (
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/codegen/contract"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/internal/vet"
)

const unseen = "testdata/unseen"

// faultForm is a line of faults.txt: a function, and "right" or the line of its fault and the fault.
var faultForm = regexp.MustCompile(`^([a-z_]+\.[a-z_]+) (?:(right)|(\d+): .+)$`)

// faults reads faults.txt: the line of each function's fault, 0 for a right one.
func faults(t *testing.T) map[string]int {
	t.Helper()
	text, err := os.ReadFile(path.Join(unseen, "faults.txt"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for line := range strings.Lines(string(text)) {
		m := faultForm.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			t.Errorf("faults.txt: want `library.function right` or `library.function LINE: the fault`, got %q", line)
			continue
		}
		if _, twice := out[m[1]]; twice {
			t.Errorf("faults.txt: %s is there twice", m[1])
		}
		out[m[1]] = 0
		if m[2] == "" {
			if out[m[1]], err = strconv.Atoi(m[3]); err != nil || out[m[1]] == 0 {
				t.Errorf("faults.txt: %s is no line of %s", m[3], m[1])
			}
		}
	}
	return out
}

// TestUnseen_isFoundAsMeasured holds what vet and 1,000 calls a function find in code for which neither was made. A change that
// was made with these functions in view would make the numbers worthless: learn from others.
func TestUnseen_isFoundAsMeasured(t *testing.T) {
	const leastFound, mostFalse = 28, 2
	tree, found := source.Load(os.DirFS(unseen), "unseen", source.Options{})
	if len(found) > 0 {
		t.Fatal(found.Error())
	}
	flagged := map[string]bool{}
	for _, d := range vet.Check(tree) {
		flagged[strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(d.File, "unseen/"), ".lua"), "/", ".")] = true
	}
	for _, lib := range tree.Libraries {
		report, err := contract.Run([]*contract.Library{contract.Of(lib)}, contract.Options{Calls: 1000, Unshrunk: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range report.Findings {
			flagged[f.Function] = true
		}
	}
	right, wrong := 0, 0
	for name, fault := range faults(t) {
		switch {
		case flagged[name] && fault > 0:
			right++
		case flagged[name]:
			wrong++
		}
	}
	t.Logf("found %d of 40 faulty functions, and flagged %d of 40 right ones", right, wrong)
	if right < leastFound || wrong > mostFalse {
		t.Errorf("found %d of 40 faulty functions, and it was %d; flagged %d of 40 right ones, and it was %d", right, leastFound, wrong, mostFalse)
	}
}
