package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/rlfunc/rlfunc/codegen/internal/annotation"
	"github.com/rlfunc/rlfunc/codegen/internal/luasrc"
	"github.com/rlfunc/rlfunc/codegen/internal/rule"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/internal/marks"
)

// specMark begins the line in which a bundle holds its spec.
const specMark = marks.Prefix + "spec="

// A held is the spec of a library as its bundle holds it: without texts, without places except those of functions, and without what follows
// from the rest. What several functions have in common is there once.
type held struct {
	spec.Library
	Rows   map[string]spec.Function `json:"rows,omitempty"`   // params, results and rules, by the lib file that declares them
	States map[string]spec.State    `json:"states,omitempty"` // by name
}

// specLine is the line in which a bundle holds its spec.
func specLine(lib spec.Library) string {
	h := held{Library: lib, Rows: map[string]spec.Function{}, States: map[string]spec.State{}}
	h.Doc, h.Server, h.Line, h.Col, h.Functions = "", "", 0, 0, nil
	for _, fn := range lib.Functions {
		short := spec.Function{Name: fn.Name, Line: fn.Line, Flags: fn.Flags, Refused: fn.Refused, Params: bare(fn.Params), Results: bare(fn.Results)}
		for _, r := range fn.Rules {
			if r.File == "" {
				short.Rules = append(short.Rules, spec.Rule{Expression: r.Expression})
			}
		}
		for i, p := range fn.Params {
			if p.Rows == "" {
				continue
			}
			of := h.Rows[p.Rows]
			of.Params, of.Rules = bare(p.Fields), nil
			for _, r := range fn.RulesOf(p.Name) {
				of.File, of.Rules = r.File, append(of.Rules, spec.Rule{Expression: r.Expression})
			}
			h.Rows[p.Rows], short.Params[i].Fields = of, nil
		}
		for i, r := range fn.Results {
			if r.Rows != "" {
				of := h.Rows[r.Rows]
				of.Results = bare(r.Fields)
				h.Rows[r.Rows], short.Results[i].Fields = of, nil
			}
		}
		for _, e := range fn.Errors {
			short.Errors = append(short.Errors, spec.Error{Code: e.Code})
		}
		for _, s := range fn.States {
			s = spec.State{Name: s.Name, Number: s.Number, File: s.File}
			if _, known := h.States[s.Name]; !known {
				h.States[s.Name] = spec.State{Number: s.Number, File: s.File}
			}
			if common := h.States[s.Name]; s.File == common.File {
				s = spec.State{Name: s.Name}
			}
			short.States = append(short.States, s)
		}
		h.Functions = append(h.Functions, short)
	}
	var out bytes.Buffer
	out.WriteString(specMark)
	to := json.NewEncoder(&out)
	to.SetEscapeHTML(false)
	if err := to.Encode(h); err != nil {
		panic(err) // it has neither channels nor cycles
	}
	return out.String()
}

// bare are fields without texts and places.
func bare(fields []spec.Field) []spec.Field {
	fields = slices.Clone(fields)
	for i := range fields {
		f := &fields[i]
		f.Lua, f.Doc, f.File, f.Line, f.Col, f.Fields = "", "", "", 0, 0, bare(f.Fields)
	}
	return fields
}

// What a server may hold beside a bundle of ours is refused before it is compared: Lua has 200 locals, and our greatest line is 15 KB.
const (
	mostFields = 200
	mostBytes  = 1 << 20
)

// readSpec reads the line of a spec.
func readSpec(head marks.Head, line string) (spec.Library, error) {
	var h held
	if len(line) > mostBytes {
		return h.Library, fmt.Errorf("its spec has %d bytes", len(line))
	}
	if err := json.Unmarshal([]byte(line), &h); err != nil {
		return h.Library, err
	}
	for tokens := json.NewDecoder(strings.NewReader(line)); ; { // findings print its names
		t, err := tokens.Token()
		if err != nil {
			break
		}
		if text, ok := t.(string); ok && strings.ContainsFunc(text, hidden) {
			return h.Library, fmt.Errorf("its spec has the name %q", text)
		}
	}
	lib := &h.Library
	if lib.Format != spec.Format {
		return *lib, fmt.Errorf("its spec has the format %d, and this rlfunc reads %d", lib.Format, spec.Format)
	}
	if lib.Name != head.Library || lib.Version != head.Version {
		return *lib, fmt.Errorf("its spec is of %q %q", lib.Name, lib.Version)
	}
	major, _, _ := strings.Cut(lib.Version, ".")
	lib.Server = lib.Name + "_v" + major
	for i := range lib.Functions {
		fn := &lib.Functions[i]
		fn.Server, fn.File = lib.Server+"_"+fn.Name, path.Join(path.Dir(lib.File), fn.Name+".lua")
		for j := range fn.Params {
			if p := &fn.Params[j]; p.Rows != "" {
				p.Fields = slices.Clone(h.Rows[p.Rows].Params)
			}
		}
		for j := range fn.Results {
			if r := &fn.Results[j]; r.Rows != "" {
				r.Fields = slices.Clone(h.Rows[r.Rows].Results)
			}
		}
		if !sound(fn.Params, false) || !sound(fn.Results, false) {
			return *lib, fmt.Errorf("its spec of %s cannot be one", fn.Name)
		}
		for j, s := range fn.States {
			if common := h.States[s.Name]; s.Number == 0 {
				fn.States[j].Number, fn.States[j].File = common.Number, common.File
			}
		}
		own := fn.Rules
		fn.Rules = nil
		for _, p := range fn.Params {
			if of := h.Rows[p.Rows]; p.Rows != "" {
				if err := addRules(fn, of.Rules, of.File, p.Fields, p.Name); err != nil {
					return *lib, err
				}
			}
		}
		if err := addRules(fn, own, "", fn.Params, ""); err != nil {
			return *lib, err
		}
	}
	return *lib, nil
}

// hidden reports whether a terminal would interpret or hide a character.
func hidden(r rune) bool { return !unicode.IsPrint(r) }

// sound reports whether fields are such as headers declare, and gives them their names in Lua.
func sound(fields []spec.Field, inRow bool) bool {
	for i := range fields {
		f := &fields[i]
		f.Lua = f.LuaName()
		wordless := f.Kind == spec.KindEnum && f.Default != nil && (*f.Default < 0 || *f.Default >= int64(len(f.Values)))
		if wordless || inRow && f.Kind == spec.KindGroup || !sound(f.Fields, true) {
			return false
		}
	}
	return len(fields) <= mostFields
}

// addRules adds rules, each about the rows of a group or about arguments.
func addRules(fn *spec.Function, rules []spec.Rule, file string, scope []spec.Field, group string) error {
	for _, r := range rules {
		e, err := rule.Parse(r.Expression, scope, group)
		if err != nil {
			return err
		}
		fn.Rules = append(fn.Rules, spec.Rule{Expression: r.Expression, Group: e.Group(), Fields: e.Paths(), File: file})
	}
	return nil
}

// ErrNoSpec means that a library does not hold its spec: this version of rlfunc did not generate it, or it was edited.
var ErrNoSpec = errors.New("its contract is unknown, because it was not generated by this version of rlfunc, or was edited since")

// Read returns a library as its bundle holds it: its spec without texts, and its Lua without comments. Whatever a server holds gives a library
// or an error.
func Read(code string) (*source.Library, error) {
	lines := strings.Split(code, "\n")
	held := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, specMark) })
	first := slices.IndexFunc(lines, func(line string) bool { return line == "" })
	if held < 0 || held > first {
		return nil, ErrNoSpec
	}
	declared, err := readSpec(marks.ReadHead(code), strings.TrimPrefix(lines[held], specMark))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoSpec, err)
	}
	lib := &source.Library{Spec: declared, Root: path.Dir(path.Dir(declared.File))}
	files := map[string]*luasrc.File{}
	for i := 0; i < len(lines); i++ {
		b, ok := marks.ReadBlock(lines[i])
		if !ok || b.File == "" {
			continue
		}
		if b.Lines < 1 || b.Lines > len(lines)-i-1 || strings.ContainsFunc(b.File, hidden) {
			return nil, fmt.Errorf("%w: %q is said to have %d lines, and %d follow", ErrNoSpec, b.File, b.Lines, len(lines)-i-1)
		}
		f, found := luasrc.Parse(b.File, strings.Join(lines[i+1:i+1+b.Lines], "\n")+"\n")
		if err := found.Err(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoSpec, err)
		}
		if files[b.File] = f; b.Local != "" {
			lib.Libs = append(lib.Libs, &annotation.Lib{Name: b.Local, File: f})
		}
		i += b.Lines
	}
	for _, fn := range declared.Functions {
		if files[fn.File] == nil {
			return nil, fmt.Errorf("%w: %s is missing", ErrNoSpec, fn.File)
		}
		lib.Files = append(lib.Files, files[fn.File])
	}
	return lib, nil
}
