package vet_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"github.com/rlfunc/rlfunc/internal/codegen/source"
	"github.com/rlfunc/rlfunc/internal/codegen/vet"
)

// An entry is one function of the corpus: a Lua file that begins with directives, one a comment line.
//
//	-- want RULE ...         the rules with findings, of a hostile function
//	-- before COMMAND ...    a command that a client runs before the next call
//	-- call ARGUMENT ...     a call; arguments as on the wire
//	-- reply TEXT            the reply of the last call
//	-- error TEXT            part of the error of the last call
//	-- then COMMAND OP TEXT  what a command answers afterwards; OP is =, < or >
//	-- load TEXT             part of the server's error when it loads the library; there is no call
//	-- hangs ARGUMENT ...    a call that ends only when it is killed
//	-- slower KEY TYPE ARGUMENT ...  a call whose cost grows with the key's content
//
// $NAME is the key NAME of the header, for the subject u.
type entry struct {
	name       string // "hostile/locks/steal"
	function   string
	text       string
	want       []string
	directives []string // all but want
}

func corpus(t *testing.T, folder string) []entry {
	t.Helper()
	files, err := filepath.Glob("testdata/corpus/" + folder + "/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus in %s: %v", folder, err)
	}
	var out []entry
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatalf("read %s: %v", file, err)
		}
		domain := strings.TrimSuffix(filepath.Base(file), ".txtar")
		for _, f := range archive.Files {
			function := strings.TrimSuffix(f.Name, ".lua")
			out = append(out, parseEntry(folder+"/"+domain+"/"+function, function, string(f.Data)))
		}
	}
	return out
}

var directiveWords = []string{"want", "before", "call", "reply", "error", "then", "load", "hangs", "slower"}

func parseEntry(name, function, text string) entry {
	e := entry{name: name, function: function, text: text}
	for line := range strings.Lines(text) {
		comment, ok := strings.CutPrefix(strings.TrimSpace(line), "-- ")
		word, rest, _ := strings.Cut(comment, " ")
		if !ok || !slices.Contains(directiveWords, word) {
			break
		}
		if word == "want" {
			e.want = append(e.want, strings.Fields(rest)...)
			continue
		}
		e.directives = append(e.directives, comment)
	}
	slices.Sort(e.want)
	return e
}

func (e entry) files() fstest.MapFS {
	return withClock(e.text, fstest.MapFS{
		"corpus/library.lua":            {Data: []byte("--- Examples.\n--- @library corpus 1.0.0\n")},
		"corpus/" + e.function + ".lua": {Data: []byte(e.text)},
	})
}

// rules returns the rules with findings in an entry, and all findings.
func (e entry) rules() (rules []string, found string) {
	tree, all := source.Load(e.files(), "functions", source.Options{})
	if len(all) == 0 {
		all = vet.Check(tree)
	}
	for _, d := range all {
		rules = append(rules, d.Rule)
	}
	slices.Sort(rules)
	return slices.Compact(rules), all.Error()
}

func TestCorpus_hostileFunctionsAreFound(t *testing.T) {
	for _, e := range corpus(t, "hostile") {
		t.Run(e.name, func(t *testing.T) {
			if len(e.want) == 0 {
				t.Fatal("it wants no rule")
			}
			rules, found := e.rules()
			if !slices.Equal(rules, e.want) {
				t.Errorf("rules %q, want %q; findings:\n%s", rules, e.want, found)
			}
		})
	}
}

func TestCorpus_goodFunctionsHaveNoFindings(t *testing.T) {
	for _, e := range corpus(t, "good") {
		t.Run(e.name, func(t *testing.T) {
			if rules, found := e.rules(); len(rules) > 0 {
				t.Errorf("findings:\n%s", found)
			}
		})
	}
}
