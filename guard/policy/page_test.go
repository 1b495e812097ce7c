package policy

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const page = "../../docs/reference/policy.md"

// A keyRow is one key of the model, as the reference page shows it.
type keyRow struct {
	path, what, byDefault string
	field                 field
}

// keyRows returns every key of the model in its order. The keys of a type that has several places, such as Limit, are listed at the first.
func keyRows(t reflect.Type, path string, docs map[string]string, known map[reflect.Type]bool) (rows []keyRow) {
	known[t] = true
	for _, f := range fieldsOf(t) {
		name := t.Field(f.index).Name
		row := keyRow{path: join(path, f.key), field: f}
		row.what, row.byDefault = cells(name, docs[t.Name()+"."+name])
		row.what = inCode(row.what) + f.values(row.what)
		if f.byDefault.IsValid() {
			row.byDefault = strings.Replace(row.byDefault, written(f.byDefault), "`"+written(f.byDefault)+"`", 1)
		} else {
			row.byDefault = inCode(row.byDefault)
		}
		rows = append(rows, row)
		if inner := scalarOf(f.typ); inner.Kind() == reflect.Struct && !known[inner] {
			rows = append(rows, keyRows(inner, row.path, docs, known)...)
		}
	}
	return rows
}

// cells splits the comment of a field into what it is and its default.
func cells(name, doc string) (what, byDefault string) {
	what = strings.TrimPrefix(doc, name+" ")
	for _, verb := range []string{"is ", "are "} {
		what = strings.TrimPrefix(what, verb)
	}
	if at := strings.LastIndex(what, "Defaults to "); at >= 0 {
		what, byDefault = what[:at], strings.TrimPrefix(what[at:], "Defaults to ")
	} else if at := strings.LastIndex(what, "Required"); at >= 0 {
		what, byDefault = what[:at], "r"+what[at+1:]
	}
	return strings.TrimSuffix(strings.TrimSpace(what), "."), strings.TrimSuffix(byDefault, ".")
}

var code = regexp.MustCompile("`[^`]+`|(GET )?[^\\s`\"(]*[_/<{*=][^\\s`\"),;:.]([^\\s`\")]*[^\\s`\"),;:.])?|\\bgcra\\b")

// inCode sets words that are code rather than English, such as sliding_log and /t/{tenant}, as Markdown's code.
func inCode(text string) string {
	return code.ReplaceAllStringFunc(text, func(word string) string { return "`" + strings.Trim(word, "`") + "`" })
}

// values lists the values of an enum, unless there are many or the text names them.
func (f *field) values(text string) string {
	all := slices.Clone(enums[scalarOf(f.typ)])
	if len(all) == 0 || len(all) > 8 || !slices.ContainsFunc(all, func(v string) bool { return !strings.Contains(text, v) }) {
		return ""
	}
	for i := range all {
		all[i] = "`" + all[i] + "`"
	}
	return ": " + either(all)
}

var (
	keyTable = regexp.MustCompile(`(?m)^\| key \|.*\n(?:\|.*\n)+`)
	section  = regexp.MustCompile(`(?m)^## (.*)\n`)
	required = regexp.MustCompile(`^required($| in a policy)`) // and not "required unless"
)

// The tables of the reference page are the model's comments, each below the heading of its section.
func TestPage_tablesAreTheModel(t *testing.T) {
	old, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	rows := keyRows(reflect.TypeFor[Policy](), "", docComments(t), map[reflect.Type]bool{})
	parts := section.Split(string(old), -1)
	headings := section.FindAllStringSubmatch(string(old), -1)
	sections := map[string]bool{}
	for _, h := range headings {
		sections[h[1]] = true
	}
	text := parts[0]
	for i, h := range headings {
		var table strings.Builder
		table.WriteString("| key | what it is | defaults to |\n|---|---|---|\n")
		for _, r := range rows {
			top, inner, _ := strings.Cut(r.path, ".")
			if h[1] == top && inner != "" || h[1] == "The policy" && (inner == "" || !sections[top]) {
				fmt.Fprintf(&table, "| `%s` | %s | %s |\n", r.path, r.what, r.byDefault)
			}
		}
		text += h[0] + keyTable.ReplaceAllLiteralString(parts[i+1], table.String())
	}
	for _, r := range rows {
		if !strings.Contains(text, "\n| `"+r.path+"` |") {
			t.Errorf("%s has no row: its section has no heading with a table", r.path)
		}
	}
	if *update {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(text, string(old)); diff != "" {
		t.Errorf("%s: run go test ./guard/policy -run TestPage -update (-want +got):\n%s", page, diff)
	}
}

// The comment of each field says its bounds, whether it is required, and its default.
func TestModel_commentsAreTrue(t *testing.T) {
	for _, r := range keyRows(reflect.TypeFor[Policy](), "", docComments(t), map[reflect.Type]bool{}) {
		f, everyKind := r.field, true
		spans := []*span{f.bounds, f.items}
		for _, rule := range f.kinds {
			spans, everyKind = append(spans, rule.bounds), everyKind && !rule.none
		}
		for _, s := range spans {
			if s != nil && !strings.Contains(r.what, s.maxText) {
				t.Errorf("the comment of %s does not say %s: %s", r.path, s, r.what)
			}
		}
		if r.byDefault == "" || required.MatchString(r.byDefault) != (f.required && everyKind) {
			t.Errorf("%s: required is %v, and the comment says %q", r.path, f.required, r.byDefault)
		}
		if f.byDefault.IsValid() && !strings.HasPrefix(r.byDefault, "`"+written(f.byDefault)+"`") {
			t.Errorf("%s defaults to %s, and the comment says %q", r.path, written(f.byDefault), r.byDefault)
		}
	}
}

// written returns a default as a policy writes it.
func written(v reflect.Value) string {
	switch d := reflect.Indirect(v).Interface().(type) {
	case time.Duration:
		return FormatDuration(d)
	case By:
		return d[0]
	default:
		return fmt.Sprint(d)
	}
}
