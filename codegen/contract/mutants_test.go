package contract

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/internal/vet"
)

// A mutant is a file with one change.
type mutant struct {
	Name string // the file below the root, the line and the operator
	File string
	Text string
}

var (
	conditionLine = regexp.MustCompile(`^(\s*(?:if|elseif|while) )(.+)( then| do)$`)
	statementLine = regexp.MustCompile(`^\s+(?:[\w.]+\([^()]*(?:\([^()]*\)[^()]*)*\)|[\w.\[\]]+ = [^{]+)$`)
	boundary      = regexp.MustCompile(` (<=|>=|<|>) `)
	swapped       = regexp.MustCompile(`(\w\()('[A-Z]+', )?([\w.]+), ([\w.]+)`)
	literalNumber = regexp.MustCompile(`([^\w.'%-])(\d+)\b`)
)

// mutants changes a file in each way that there is: a condition made true or false, a statement deleted, a bound moved by one, two
// arguments swapped.
func mutants(file, text string) (out []mutant) {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "--") {
			continue
		}
		code, comment, _ := strings.Cut(line, " --")
		_ = comment
		add := func(operator, to string) {
			if to == code {
				return
			}
			changed := append(append(append([]string{}, lines[:i]...), to), lines[i+1:]...)
			out = append(out, mutant{fmt.Sprintf("%s:%d %s: %s", file, i+1, operator, strings.TrimSpace(to)), file, strings.Join(changed, "\n")})
		}
		if m := conditionLine.FindStringSubmatch(code); m != nil {
			if !strings.HasPrefix(strings.TrimSpace(code), "while") {
				add("condition true", m[1]+"true"+m[3])
			}
			add("condition false", m[1]+"false"+m[3])
		}
		if statementLine.MatchString(code) && !strings.Contains(code, "return") && !strings.Contains(code, "local ") {
			add("statement deleted", "")
		}
		if m := boundary.FindStringSubmatchIndex(code); m != nil {
			to := map[string]string{"<": "<=", "<=": "<", ">": ">=", ">=": ">"}[code[m[2]:m[3]]]
			add("bound moved", code[:m[2]]+to+code[m[3]:])
		}
		if m := literalNumber.FindStringSubmatchIndex(code); m != nil && strings.Count(code[:m[4]], "'")%2 == 0 {
			n, _ := strconv.Atoi(code[m[4]:m[5]])
			add("number moved", code[:m[4]]+strconv.Itoa(n+1)+code[m[5]:])
		}
		if m := swapped.FindStringSubmatchIndex(code); m != nil && !strings.Contains(code, "function") {
			add("arguments swapped", code[:m[6]]+code[m[8]:m[9]]+", "+code[m[6]:m[7]]+code[m[9]:])
		}
	}
	return out
}

// TestMutants reports how many mutants of a tree of functions vet and running find.
func TestMutants(t *testing.T) {
	root, every := os.Getenv("RLFUNC_MUTANTS"), 1
	if root == "" {
		t.Skip("RLFUNC_MUTANTS names no folder of functions")
	}
	if n, err := strconv.Atoi(os.Getenv("RLFUNC_EVERY")); err == nil {
		every = n
	}
	files := fstest.MapFS{}
	var all []mutant
	fsys := os.DirFS(root)
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".lua" {
			return err
		}
		text, err := fs.ReadFile(fsys, name)
		files[name] = &fstest.MapFile{Data: text}
		if path.Base(name) != "library.lua" && path.Base(name) != "clock.lua" {
			all = append(all, mutants(name, string(text))...)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var chosen []mutant
	for i := 0; i < len(all); i += every {
		chosen = append(chosen, all[i])
	}
	if to := os.Getenv("RLFUNC_MUTANTS_TO"); to != "" {
		text, _ := json.Marshal(chosen)
		if err := os.WriteFile(to, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	found := 0
	for _, m := range chosen {
		rules := rulesOf(t, files, m)
		if len(rules) > 0 {
			found++
		}
		fmt.Printf("%t %s %v\n", len(rules) > 0, m.Name, rules)
	}
	fmt.Printf("%d of %d mutants of %s found\n", found, len(chosen), root)
}

// rulesOf runs the first library that has or uses the file of a mutant.
func rulesOf(t *testing.T, files fstest.MapFS, m mutant) (rules []string) {
	was := files[m.File]
	files[m.File] = &fstest.MapFile{Data: []byte(m.Text)}
	defer func() { files[m.File] = was }()
	tree, found := source.Load(files, "functions", source.Options{})
	if len(found) == 0 {
		found = vet.Check(tree)
	}
	if len(found) > 0 {
		return []string{"vet " + found[0].Rule}
	}
	for _, lib := range tree.Libraries {
		l := Of(lib)
		if !strings.Contains(l.Code, "file=functions/"+m.File+"\n") {
			continue
		}
		r, err := Run([]*Library{l}, Options{Calls: 1000, Unshrunk: true})
		if err != nil {
			return []string{"load"}
		}
		for _, f := range r.Findings {
			rules = append(rules, f.Rule)
		}
		return rules
	}
	return nil
}
