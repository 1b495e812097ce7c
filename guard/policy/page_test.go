package policy

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

const page = "../../docs/reference/policy.md"

// modelKeys collects every key of the model that is not a section, by path without indexes, once for each type of section.
func modelKeys(t reflect.Type, path string, known map[reflect.Type]bool, keys map[string]field) {
	known[t] = true
	for _, f := range fieldsOf(t) {
		at, inner := join(path, f.key), scalarOf(f.typ)
		if inner.Kind() != reflect.Struct || f.typ.Kind() == reflect.Slice || f.typ.Kind() == reflect.Map || path == "" {
			keys[at] = f
		}
		if inner.Kind() == reflect.Struct && !known[inner] {
			modelKeys(inner, at, known, keys)
		}
	}
}

// TestPage_hasEachKey compares the keys in docs/reference/policy.md with the model: bounds and required keys.
func TestPage_hasEachKey(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z0-9_.]+)` \\|.*$").FindAllStringSubmatch(string(text), -1) {
		if rows[row[1]] != "" {
			t.Errorf("duplicate row %s", row[1])
		}
		rows[row[1]] = row[0]
	}
	keys := map[string]field{}
	modelKeys(reflect.TypeFor[Policy](), "", map[reflect.Type]bool{}, keys)
	for key, f := range keys {
		row := rows[key]
		if row == "" {
			t.Errorf("%s has no row", key)
			continue
		}
		spans, everyKind := []*span{f.bounds, f.items}, true
		for _, rule := range f.kinds {
			spans, everyKind = append(spans, rule.bounds), everyKind && !rule.none
		}
		for _, s := range spans {
			if s != nil && !strings.Contains(row, s.maxText) {
				t.Errorf("the row of %s does not say %s: %s", key, s, row)
			}
		}
		if strings.HasSuffix(row, "| required |") != (f.required && everyKind) {
			t.Errorf("required is %v in the model: %s", f.required, row)
		}
	}
	for key := range rows {
		if _, ok := keys[key]; !ok {
			t.Errorf("%s is not a key", key)
		}
	}
}

func TestPage_snippetsParse(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	snippets := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(snippets) < 3 {
		t.Fatalf("%d snippets", len(snippets))
	}
	for _, s := range snippets {
		if _, err := Parse(page, []byte(s[1])); err != nil {
			t.Errorf("%v in\n%s", err, s[1])
		}
	}
}
