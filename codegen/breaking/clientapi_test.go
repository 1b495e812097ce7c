package breaking_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/codegen/internal/python"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/internal/typescript"
)

// clientAPI is all that a caller can name in the generated Python and TypeScript modules of a library, one thing a line, with its type.
// An argument that may be omitted is two things, as a caller that omits it relies on that.
func clientAPI(t *testing.T, lib *source.Library) map[string]bool {
	t.Helper()
	api := map[string]bool{}
	libs := []*source.Library{lib}
	files, err := python.Files(libs, nil)
	if err != nil {
		t.Fatal(err)
	}
	pythonAPI(api, string(files[python.Package+"/"+lib.Spec.Name+".py"]))
	if files, err = typescript.Files(libs, nil); err != nil {
		t.Fatal(err)
	}
	typescriptAPI(api, string(files["src/"+lib.Spec.Name+".ts"]))
	return api
}

var (
	pyDocs   = regexp.MustCompile(`(?s)""".*?"""`)
	pyBlock  = regexp.MustCompile(`^(?:class (\w+)|    def (\w+)\()`)
	pyField  = regexp.MustCompile(`^ +(\w+): (.+?)( = .+?)?,?$`)
	pyMember = regexp.MustCompile(`^    ([A-Z][A-Z0-9_]* = ".*")$`)
	pyReturn = regexp.MustCompile(`^    \) -> (.+):$`)
	// The arguments of a method.
	pySignature = regexp.MustCompile(`(?m)^        self, .*(\n .*)*?\n    \) -> `)

	tsDocs   = regexp.MustCompile(`(?s)/\*\*.*?\*/`)
	tsBlock  = regexp.MustCompile(`^export (?:interface|class|type|function) (\w+)`)
	tsField  = regexp.MustCompile(`^  (\w+)(\??): (.+);$`)
	tsValues = regexp.MustCompile(`^const (\w+)Values = \[(.*)\] as const;$`)
	tsMethod = regexp.MustCompile(`^  async (\w+\(p: \w+\): .+) \{$`)
)

func pythonAPI(api map[string]bool, text string) {
	class, method := "", ""
	text = pySignature.ReplaceAllStringFunc(pyDocs.ReplaceAllString(text, ""), func(s string) string {
		return strings.ReplaceAll(s, ", ", ",\n        ") // an argument a line
	})
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if m := pyBlock.FindStringSubmatch(line); m != nil {
			if m[1] != "" || m[2] == "" {
				class = m[1]
			}
			method = m[2]
			api["Python "+class+"."+method] = true
			continue
		}
		where := "Python " + class + "." + method + "."
		if m := pyMember.FindStringSubmatch(line); m != nil {
			api[where+m[1]] = true
		} else if m := pyReturn.FindStringSubmatch(line); m != nil {
			api[where+" returns "+m[1]] = true
		} else if m := pyField.FindStringSubmatch(line); m != nil {
			if m[3] != "" {
				api[where+m[1]+" may be omitted"] = true
				m[2] = strings.TrimSuffix(m[2], " | None")
			}
			api[where+m[1]+": "+m[2]] = true
		}
	}
}

func typescriptAPI(api map[string]bool, text string) {
	block := ""
	for line := range strings.Lines(tsDocs.ReplaceAllString(text, "")) {
		line = strings.TrimRight(line, "\n")
		if m := tsBlock.FindStringSubmatch(line); m != nil {
			block = m[1]
			api["TypeScript "+block] = true
		} else if m := tsValues.FindStringSubmatch(line); m != nil {
			for _, v := range strings.Split(m[2], ", ") {
				api["TypeScript "+m[1]+" is "+v] = true
			}
		} else if m := tsMethod.FindStringSubmatch(line); m != nil {
			api["TypeScript "+block+"."+m[1]] = true
		} else if m := tsField.FindStringSubmatch(line); m != nil {
			if m[2] != "" {
				api["TypeScript "+block+"."+m[1]+" may be omitted"] = true
			}
			api["TypeScript "+block+"."+m[1]+": "+m[3]] = true
		}
	}
}

// TestClientAPI_seesWhatACallerUses keeps the comparison of clients from comparing nothing.
func TestClientAPI_seesWhatACallerUses(t *testing.T) {
	for _, tree := range own(t) {
		for _, lib := range tree.Libraries {
			if lib.Spec.Name != "ratelimit" {
				continue
			}
			api := clientAPI(t, lib)
			for _, want := range []string{
				"Python LimitKind..GCRA = \"gcra\"", "Python Limit..burst: int", "Python Limit..burst may be omitted", "Python CheckResult..allowed: bool",
				"Python _Functions.gcra", "Python _Functions.gcra.limit: int", "Python _Functions.gcra. returns Call[GcraResult]", "Python _Functions.gcra.period: timedelta",
				"TypeScript LimitKind is \"gcra\"", "TypeScript Limit.burst: Count", "TypeScript Limit.burst may be omitted", "TypeScript CheckResult.allowed: boolean",
				"TypeScript Client.gcra(p: GcraParams): Promise<GcraResult>", "TypeScript GcraParams.period: Duration",
			} {
				if !api[want] {
					t.Errorf("the API lacks %s", want)
				}
			}
			return
		}
	}
	t.Error("no library ratelimit")
}
