package contract

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/internal/bundle"
	"github.com/rlfunc/rlfunc/codegen/internal/luasrc"
	"github.com/rlfunc/rlfunc/codegen/internal/rule"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/internal/vet"
	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/marks"
)

// A Library is one whose functions are called: its headers, its Lua, and the code that servers hold.
type Library struct {
	*source.Library
	Code      string
	functions []*function

	authors map[int]Place // the author's line of a line of the bundle
	ignored map[Place][]string
	words   words
}

// A function is what calls of it need to know.
type function struct {
	*spec.Function
	lib    *Library
	name   string // "ratelimit.gcra"
	path   string // of its file
	args   []arg  // the parameters that are no keys
	rules  []*rule.Expression
	places map[string][2]int // the arguments and cells, by their paths: which argument, and which of its cells or -1
}

// An arg is an argument; one that is a group has cells, the fields of a row that are no keys.
type arg struct {
	spec.Field
	cells []spec.Field
}

// Of bundles a library that has been read from its source.
func Of(lib *source.Library) *Library { return of(lib, bundle.Write(lib)) }

func of(lib *source.Library, code string) *Library {
	l := &Library{Library: lib, Code: code, ignored: map[Place][]string{}, authors: map[int]Place{}}
	for i, line := range strings.Split(l.Code, "\n") {
		b, _ := marks.ReadBlock(line)
		for n := 1; b.File != "" && n <= b.Lines; n++ {
			l.authors[i+1+n] = Place{b.File, n}
		}
	}
	l.words = wordsOf(l.sources())
	for i := range lib.Spec.Functions {
		f := &function{Function: &lib.Spec.Functions[i], lib: l, name: lib.Spec.Name + "." + lib.Spec.Functions[i].Name, path: lib.Files[i].Path, places: map[string][2]int{}}
		for i := range f.Rules {
			f.rules = append(f.rules, rule.Of(f.Function, &f.Rules[i]))
		}
		for _, p := range f.Params {
			if p.Kind == spec.KindKey {
				continue
			}
			cells, _ := p.Cells()
			f.places[p.Name] = [2]int{len(f.args), -1}
			for j, c := range cells {
				f.places[p.Name+"."+c.Name] = [2]int{len(f.args), j}
			}
			f.args = append(f.args, arg{p, cells})
		}
		l.functions = append(l.functions, f)
	}
	for _, file := range l.sources() {
		for line, rules := range vet.Ignored(file) {
			l.ignored[Place{file.Path, line}] = rules
		}
	}
	return l
}

// Read reads a library from the bundle that a generated package embeds.
func Read(lib *fcall.Library) (*Library, error) {
	own, err := bundle.Read(lib.Code)
	if err != nil {
		return nil, fmt.Errorf("read %s, as its generated package embeds it: %w", lib.Name, err)
	}
	return of(own, lib.Code), nil
}

// sources are the library's own files, and those that it uses.
func (l *Library) sources() []*luasrc.File {
	all := slices.Clone(l.Files)
	for _, used := range l.Libs {
		all = append(all, used.File)
	}
	return all
}

// silenced reports whether the author has silenced a finding.
func (l *Library) silenced(f Finding) bool {
	return slices.Contains(l.ignored[Place{f.File, f.Line}], f.Rule)
}

// forever reports whether a header says that a key may stay without an expiry.
func (l *Library) forever(key string) bool {
	return slices.ContainsFunc(l.functions, func(f *function) bool {
		found := func(k spec.Field) bool { return k.Kind == spec.KindKey && k.Forever && k.Suffix == suffixOf(key) }
		return slices.ContainsFunc(f.Params, func(p spec.Field) bool { return found(p) || slices.ContainsFunc(p.Fields, found) })
	})
}

// suffixOf is what a key has behind its tag, up to a value.
func suffixOf(key string) string {
	_, suffix, _ := strings.Cut(key, "}:")
	suffix, _, _ = strings.Cut(suffix, ":")
	return suffix
}

var (
	comment  = regexp.MustCompile(`(?m)--.*$`)
	quoted   = regexp.MustCompile(`'([^'\\\n]{1,40})'|"([^"\\\n]{1,40})"`)
	numeral  = regexp.MustCompile(`\b\d{1,15}\b`)
	selected = regexp.MustCompile(`\w\.([a-z_]+)\b[^(]`)
)

// words are the texts and numbers of a library's source: arguments and contents that are like them reach more of it.
type words struct {
	texts   []string
	numbers []int64
	json    bool // it reads JSON
}

func wordsOf(files []*luasrc.File) (out words) {
	texts, numbers := map[string]bool{}, map[int64]bool{}
	for _, file := range files {
		source := comment.ReplaceAllString(file.Text, "")
		out.json = out.json || strings.Contains(source, "cjson")
		for _, m := range selected.FindAllStringSubmatch(source, -1) {
			texts[m[1]] = m[1] != "call"
		}
		for _, m := range quoted.FindAllStringSubmatch(source, -1) {
			if t := m[1] + m[2]; t == strings.ToLower(t) || t != strings.ToUpper(t) { // no command
				texts[t] = true
			}
		}
		for _, m := range numeral.FindAllString(source, -1) {
			n, _ := strconv.ParseInt(m, 10, 64)
			numbers[n] = true
		}
	}
	for _, name := range []string{"nil", "boolean", "number", "string", "table", "function"} { // of type(x)
		delete(texts, name)
	}
	maps.DeleteFunc(texts, func(_ string, use bool) bool { return !use })
	out.texts, out.numbers = slices.Sorted(maps.Keys(texts)), slices.Sorted(maps.Keys(numbers))
	return out
}
