package annotation

import (
	"go/token"
	"path"
	"slices"
	"strconv"

	"github.com/yuin/gopher-lua/ast"

	"github.com/rlfunc/rlfunc/codegen/internal/diag"
	"github.com/rlfunc/rlfunc/codegen/internal/luasrc"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

// Library reads library.lua: the name, the version and the doc of the library that a folder is.
func Library(f *luasrc.File) (spec.Library, diag.List) {
	var found diag.List
	lib := spec.Library{Format: spec.Format, File: f.Path}
	if len(f.Chunk) > 0 {
		line := f.Chunk[0].Line()
		found.Add(f.Path, line, f.Indent(line), RuleFile, "library.lua holds only the library's header: shared Lua goes into lib/")
	}
	h := firstHeader(f, &found)
	stray(f, h, &found)
	if h == nil {
		found.Add(f.Path, 1, 1, RuleVersion, "library.lua holds the library's header: a sentence, and `--- @library %s 1.0.0`", path.Base(path.Dir(f.Path)))
		return lib, found
	}
	lib.Doc = h.summary
	if h.doc != "" {
		lib.Doc += "\n\n" + h.doc
	}
	if h.summary == "" {
		found.Add(f.Path, h.first, 1, RuleHeader, "the header begins with a sentence that says what the library is for")
	}
	r := &fieldReader{path: f.Path, found: &found}
	seen := false
	for _, rw := range h.rows {
		switch {
		case rw.tag != tagLibrary && slices.Contains(tags, rw.tag):
			r.add(rw.line, rw.col, RuleStrayTag, "@%s does not belong in library.lua", rw.tag)
		case rw.tag != tagLibrary:
			unknownTag(r, rw)
		case seen:
			r.add(rw.line, rw.col, RuleDuplicate, "@library is repeated")
		default:
			seen = true
			readLibraryRow(r, rw, &lib)
		}
	}
	if !seen {
		found.Add(f.Path, h.first, 1, RuleVersion, "no @library row: `--- @library %s 1.0.0`", path.Base(path.Dir(f.Path)))
	}
	return lib, found
}

// notPackages are names, besides keywords, that no package can have or that others cannot import.
var notPackages = map[string]bool{"main": true, "internal": true, "vendor": true, "testdata": true}

func readLibraryRow(r *fieldReader, rw row, lib *spec.Library) {
	name, rest, col, restCol := word(rw.text, rw.textCol)
	version, extra, versionCol, extraCol := word(rest, restCol)
	folder := path.Base(path.Dir(r.path))
	switch {
	case !nameForm.MatchString(name):
		r.add(rw.line, col, RuleName, "library name %q is not a name of whole words in snake_case", name)
	case token.IsKeyword(name) || notPackages[name]:
		r.add(rw.line, col, RuleName, "a library cannot be named %s: the Go client's package has the library's name, and Go keeps that word for itself", name)
	case name != folder:
		r.add(rw.line, col, RuleFile, "library %s stands in the folder %s: one folder is one library, and is named after it", name, folder)
	}
	if !semverForm.MatchString(version) {
		r.add(rw.line, versionCol, RuleVersion, "%q is not a semantic version, as 1.0.0", version)
	}
	if w, _, wCol, _ := word(extra, extraCol); w != "" {
		r.add(rw.line, wCol, RuleVersion, "unexpected %q after the version", w)
	}
	lib.Name, lib.Version = name, version
	lib.Line, lib.Col = rw.line, versionCol
}

// A Lib is a file of lib/: shared Lua, which functions and other lib files name with @use.
type Lib struct {
	Name string
	Doc  string
	File *luasrc.File
	Uses []string
	// States are what the file itself stores.
	States []spec.State
	// Row are the fields of an argument group's row, and Answer those of a result group's, that several functions share.
	Row, Answer []spec.Field
	rules       []spec.Rule // about such rows
	// Prepares reports whether the file has a function prepare, for rows of argument groups that were decoded.
	Prepares bool
}

// LibFile reads a file of lib/.
func LibFile(f *luasrc.File, name string) (Lib, diag.List) {
	var found diag.List
	lib := Lib{Name: name, File: f, Uses: []string{}}
	h := firstHeader(f, &found)
	stray(f, h, &found)
	r := &fieldReader{path: f.Path, found: &found, lib: true}
	declared := false
	if h != nil {
		lib.Doc = h.summary
		for _, rw := range h.rows {
			switch {
			case rw.tag == tagUse:
				readUse(r, rw, &lib.Uses)
			case rw.tag == tagState:
				readState(r, rw, &lib.States)
			case rw.tag == tagKey || rw.tag == tagArg:
				lib.Row = r.read(rw, lib.Row)
			case rw.tag == tagResult:
				lib.Answer = r.read(rw, lib.Answer)
			case rw.tag == tagMust: // once all fields are known
			case rw.tag == tagLib:
				declared = true
				got, _, col, _ := word(rw.text, rw.textCol)
				if got != name {
					r.add(rw.line, col, RuleFile, "lib file %s declares itself as %q", name, got)
				}
			case slices.Contains(tags, rw.tag):
				r.add(rw.line, rw.col, RuleStrayTag, "@%s does not belong in a lib file", rw.tag)
			default:
				unknownTag(r, rw)
			}
		}
	}
	r.checkRow(name, lib.Row)
	if h != nil {
		for _, rw := range ofTag(h.rows, tagMust) {
			if one, ok := r.readMust(rw, lib.Row, name); ok {
				lib.rules = append(lib.rules, one)
			}
		}
	}
	r.checkEnums(lib.Row, lib.Answer)
	lib.Prepares = prepares(f.Chunk)
	if !declared {
		found.Add(f.Path, 1, 1, RuleHeader, "a lib file begins with a header: a sentence, and `--- @lib %s`", name)
	}
	if !endsInReturn(f.Chunk) {
		last := len(f.Lines)
		found.Add(f.Path, max(last-1, 1), 1, RuleFile, "a lib file ends by returning its table: `return %s`", name)
	}
	return lib, found
}

func endsInReturn(chunk []ast.Stmt) bool {
	if len(chunk) == 0 {
		return false
	}
	ret, ok := chunk[len(chunk)-1].(*ast.ReturnStmt)
	return ok && len(ret.Exprs) == 1
}

// prepares reports whether a lib file gives the table that it returns a function prepare.
func prepares(chunk []ast.Stmt) bool {
	if !endsInReturn(chunk) {
		return false
	}
	returned, ok := chunk[len(chunk)-1].(*ast.ReturnStmt).Exprs[0].(*ast.IdentExpr)
	return ok && slices.ContainsFunc(chunk, func(stmt ast.Stmt) bool {
		table, name := defined(stmt)
		return table == returned.Value && name == "prepare"
	})
}

// firstHeader is the block of --- lines that begins the file.
func firstHeader(f *luasrc.File, found *diag.List) *header {
	last := 0
	for _, c := range f.Comments {
		if c.Own && !c.Long && isHeaderLine(c.Text) && (last == 0 || c.Line == last+1) {
			last = c.Line
		}
	}
	if last == 0 {
		return nil
	}
	return readHeader(f, last, found)
}

// readState reads `@state NAME NUMBER text`: what a file stores, and the number of its shape.
func readState(r *fieldReader, rw row, states *[]spec.State) {
	name, rest, col, restCol := word(rw.text, rw.textCol)
	digits, text, numberCol, _ := word(rest, restCol)
	number, err := strconv.Atoi(digits)
	doc := rw.doc(text)
	switch {
	case !nameForm.MatchString(name):
		r.add(rw.line, col, RuleState, "@state names what is stored and the number of its shape, as `@state log 1 the times, oldest first`, got %q", name)
	case err != nil || number < 1 || digits != strconv.Itoa(number):
		r.add(rw.line, numberCol, RuleState, "the shape of %s has a whole number from 1, which goes up when the shape changes, got %q", name, digits)
	case doc == "":
		r.add(rw.line, numberCol, RuleState, "@state %s does not say what is stored", name)
	case slices.ContainsFunc(*states, func(s spec.State) bool { return s.Name == name }):
		r.add(rw.line, col, RuleDuplicate, "@state %s is repeated", name)
	default:
		*states = append(*states, spec.State{Name: name, Number: number, Doc: doc, File: r.path, Line: rw.line, Col: col})
	}
}
