package contract_test

import (
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/codegen/contract"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/internal/vet"
	"github.com/rlfunc/rlfunc/codegen/runtime"
	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/functions"
)

const unseen = "testdata/unseen"

// faultForm is a line of faults.txt: a function, and "right" or the line of its fault and the fault.
var faultForm = regexp.MustCompile(`^([a-z_]+\.[a-z_]+) (?:(right)|(\d+): .+)$`)

func TestUnseen_everyFunctionLoadsAndIsListed(t *testing.T) {
	tree, found := source.Load(os.DirFS(unseen), "unseen", source.Options{})
	if len(found) > 0 {
		t.Fatal(found.Error())
	}
	server := embedded.New(embedded.Options{})
	defer server.Close()
	text := map[string]string{} // of the file of each function
	for _, lib := range tree.Libraries {
		if err := server.Client().FunctionLoad(t.Context(), runtime.Library(lib).Code).Err(); err != nil {
			t.Errorf("load %s: %v", lib.Spec.Name, err)
		}
		for i, f := range lib.Files {
			text[lib.Spec.Name+"."+lib.Spec.Functions[i].Name] = f.Text
		}
	}

	right, faulty := 0, 0
	for name, fault := range faults(t) {
		code, ok := text[name]
		switch {
		case !ok:
			t.Errorf("faults.txt: there is no function %s", name)
		case fault == 0:
			right++
		default:
			faulty++
			if lines := strings.Split(code, "\n"); fault > len(lines) || !isCode(lines[fault-1]) {
				t.Errorf("faults.txt: line %d of %s has no code", fault, name)
			}
		}
		delete(text, name)
	}
	for name := range text {
		t.Errorf("faults.txt lacks %s", name)
	}
	if right != 40 || faulty != 40 {
		t.Errorf("%d functions are right and %d faulty, want 40 of each", right, faulty)
	}
}

func TestUnseen_sharedLuaIsThatOfTheLibraries(t *testing.T) {
	for _, name := range []string{"lib/clock.lua", "lib/refusal.lua"} {
		want, err := functions.FS.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path.Join(unseen, name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

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

func isCode(line string) bool {
	line = strings.TrimSpace(line)
	return line != "" && !strings.HasPrefix(line, "--")
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
