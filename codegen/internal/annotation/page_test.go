package annotation_test

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/codegen/internal/annotation"
	"github.com/rlfunc/rlfunc/codegen/internal/diag"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
)

const headerPage = "../../../docs/reference/function-header.md"

// companions are arguments for rows of the page that name others.
const companions = `--- @arg cost count[0..1000]? a cost
--- @arg limit count[1..1000]? a limit
--- @arg weight count[1..10]? a weight
--- @arg burst count[1..1000]? a burst
--- @arg kind enum(window,bucket) how it counts
--- @arg receipt text[64]? an ID
--- @arg id text[64]? another
--- @arg hold duration[1ms..1d]? a time
--- @arg window duration[1ms..366d] a time
--- @arg period duration[1ms..1d] a time
--- @arg payer text[64] an account
--- @arg payee text[64] another
--- @arg name text[64] a name
--- @arg names group[1..8] names
--- @arg names.name text[64] one
--- @arg taken group[1..8] numbers
--- @arg taken.n count[0..9] one
--- @arg limits group[1..8] rows
--- @arg limits.name text[64] a name
`

// The page is what the parser takes: its tags, types, flags and lib functions are those that there are, and its examples have no finding.
func TestPage_isWhatTheParserTakes(t *testing.T) {
	text, err := os.ReadFile(headerPage)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	cells := func(heading string) (all []string) {
		_, section, _ := strings.Cut(page, "\n## "+heading+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		for _, row := range regexp.MustCompile("(?m)^\\| (`.*?`) \\|").FindAllStringSubmatch(section, -1) {
			for _, cell := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
				all = append(all, cell[1])
			}
		}
		if len(all) < 3 {
			t.Errorf("the table of %q has %d cells", heading, len(all))
		}
		return all
	}

	// What there is, the parser tells whoever gets it wrong.
	offered := func(header, before, separator string) []string {
		found := findings("--- Looks.\n" + header + "\nlocal function f()\nend\n")
		i := slices.IndexFunc(found, func(d diag.Diagnostic) bool { return strings.Contains(d.Message, before) })
		if i < 0 {
			t.Fatalf("%s: %v", header, found)
		}
		_, list, _ := strings.Cut(found[i].Message, before)
		return strings.Split(strings.TrimSuffix(list, ")"), separator)
	}
	var tags, types []string
	for _, cell := range cells("Tags") {
		tag, _, _ := strings.Cut(strings.TrimPrefix(cell, "@"), " ")
		tags = append(tags, tag)
	}
	for _, cell := range cells("Types") {
		types = append(types, regexp.MustCompile(`^[a-z]+`).FindString(cell))
	}
	sorted := func(words []string) []string { return slices.Sorted(slices.Values(words)) }
	if d := cmp.Diff(sorted(offered("--- @nothing x", "(tags: ", ", ")), sorted(tags)); d != "" {
		t.Errorf("tags (-parser +page):\n%s", d)
	}
	if d := cmp.Diff(offered("--- @arg a nothing[1] b", "(types: ", ", "), types); d != "" {
		t.Errorf("types (-parser +page):\n%s", d)
	}
	for _, flag := range offered("--- @flags", "one or more of ", ", ") {
		if !strings.Contains(page, "`"+flag+"`") {
			t.Errorf("the page lacks the flag %s", flag)
		}
	}

	accepted := func(what, header string) {
		found := findings("--- Looks.\n" + header + "--- @result found bool whether it is there\nlocal function f()\n  return true\nend\n")
		if found = slices.DeleteFunc(found, func(d diag.Diagnostic) bool { return d.Rule == annotation.RuleParams }); len(found) > 0 {
			t.Errorf("%s: %v", what, found)
		}
	}
	const key = "--- @key first string[first] a key\n"
	for _, cell := range append(cells("Types"), cells("Optional arguments")...) {
		row := key + "--- @arg it " + cell + " a text\n"
		if strings.HasPrefix(cell, "group") {
			row += "--- @arg it.name text[8] a name\n"
		}
		accepted(cell, row)
	}
	for _, cell := range cells("Keys") {
		if strings.HasSuffix(cell, "]") && strings.Contains(cell, "][") {
			accepted(cell, key+companions+"--- @key "+cell+" a key\n")
			continue
		}
		accepted(cell, key+"--- @key "+cell+" a key\n"+companions)
	}
	for _, cell := range cells("Rules between arguments") {
		if strings.Contains(cell, ": ") && !strings.HasPrefix(cell, "RLARG") && !strings.Contains(cell, ".") {
			accepted(cell, key+companions+"--- @must "+cell+"\n")
		}
	}
	for _, block := range regexp.MustCompile("(?s)\n```lua\n(.*?)```").FindAllStringSubmatch(page, -1) {
		name := "library"
		if strings.Contains(block[1], "@lib ") {
			name = "tier"
		}
		if m := regexp.MustCompile(`local function (\w+)`).FindStringSubmatch(block[1]); m != nil {
			name = m[1]
		}
		if found := findingsOf(name, block[1]); len(found) > 0 {
			t.Errorf("%s.lua: %v", name, found)
		}
	}

	for _, lib := range []string{"clock", "refusal"} {
		code, err := os.ReadFile("../../../functions/lib/" + lib + ".lua")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range regexp.MustCompile(`(?m)^function (.*)$`).FindAllStringSubmatch(string(code), -1) {
			if !strings.Contains(page, "`"+f[1]+"`") {
				t.Errorf("the page lacks %s", f[1])
			}
		}
	}
}

func findings(function string) diag.List { return findingsOf("f", function) }

// findingsOf loads a library with one file and one lib, and returns what is found in the file.
func findingsOf(name, text string) diag.List {
	fsys := fstest.MapFS{
		"lib/clock.lua": {Data: []byte("--- Time.\n--- @lib clock\nlocal clock = {}\nfunction clock.now_us()\n  return 1\nend\nreturn clock\n")},
		"x/library.lua": {Data: []byte("--- Examples.\n--- @library x 1.0.0\n")},
	}
	if name == "library" {
		text = strings.Replace(text, "cart 1", "x 1", 1)
		fsys["x/f.lua"] = &fstest.MapFile{Data: []byte("--- Looks.\n--- @key a string[a] a key\n--- @result b bool a result\nlocal function f(a)\n  return true\nend\n")}
	}
	file := "x/" + name + ".lua"
	if name == "tier" { // rows that a function shares
		file = "lib/tier.lua"
		fsys["x/f.lua"] = &fstest.MapFile{Data: []byte("--- Looks.\n--- @use tier\n--- @key a string[a] a key\n--- @arg b group(tier)[1..8] rows\n" +
			"--- @result c bool a result\n--- @result b group(tier) rows\nlocal function f(a, b, b_used)\n  return true, b\nend\n")}
	}
	fsys[file] = &fstest.MapFile{Data: []byte(text)}
	_, found := source.Load(fsys, "functions", source.Options{})
	return slices.DeleteFunc(found, func(d diag.Diagnostic) bool { return path.Base(d.File) != name+".lua" })
}
