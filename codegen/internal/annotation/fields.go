package annotation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/internal/diag"
	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

// fieldReader turns @key, @arg and @result rows into fields.
type fieldReader struct {
	path  string
	found *diag.List
	libs  map[string]*Lib // by name: what declares rows for several functions
	lib   bool            // the fields are a lib file's: those of a row
}

func (r *fieldReader) add(line, col int, rule, format string, args ...any) {
	r.found.Add(r.path, line, col, rule, format, args...)
}

// read reads one row and adds the field to fields, or to the group that its name begins with.
func (r *fieldReader) read(rw row, fields []spec.Field) []spec.Field {
	name, rest, nameCol, restCol := word(rw.text, rw.textCol)
	if name == "" {
		r.add(rw.line, rw.col, RuleRow, "@%s needs a name, a type and a text", rw.tag)
		return fields
	}
	group, field, inGroup := strings.Cut(name, ".")
	if !inGroup {
		field = group
	}
	if inGroup && r.lib {
		r.add(rw.line, nameCol, RuleGroup, "a lib file declares the fields of one row, without the group's name: call it %s", field)
		return fields
	}
	if !r.checkName(rw, field, nameCol) || inGroup && !r.checkName(rw, group, nameCol) {
		return fields
	}
	f := spec.Field{Name: field, Line: rw.line, Col: nameCol}
	w, doc, typeCol, _ := typeWord(rest, restCol)
	if !r.readType(rw, w, typeCol, inGroup || r.lib, &f) {
		return fields
	}
	if first, rest, _, _ := word(doc, 0); rw.tag == tagKey && first == lasting {
		f.Forever, doc = true, rest
	}
	f.Doc = rw.doc(doc)
	if f.Doc == "" {
		r.add(rw.line, typeCol, RuleRow, "@%s %s has no text: say what it is, in its unit", rw.tag, name)
	}
	f.Lua = f.LuaName()
	if f.Kind == spec.KindGroup && (inGroup || r.lib) {
		r.add(rw.line, typeCol, RuleGroup, "groups do not nest")
		return fields
	}
	if r.lib {
		f.File = r.path
	}
	if f.Rows != "" && !r.rowsOf(rw, typeCol, &f) {
		return fields
	}
	if !inGroup {
		return r.insert(rw, fields, f, nameCol)
	}
	i := slices.IndexFunc(fields, func(g spec.Field) bool { return g.Name == group && g.Kind == spec.KindGroup })
	if i < 0 {
		r.add(rw.line, nameCol, RuleGroup, "group %s is not declared above: declare it with @%s %s group[1..16] text", group, strings.Replace(rw.tag, tagKey, tagArg, 1), group)
		return fields
	}
	if fields[i].Rows != "" {
		r.add(rw.line, nameCol, RuleGroup, "the rows of %s are declared in the lib file %s: declare %s there", group, fields[i].Rows, field)
		return fields
	}
	fields[i].Fields = r.insert(rw, fields[i].Fields, f, nameCol)
	return fields
}

// rowsOf gives a group the rows that a lib file declares.
func (r *fieldReader) rowsOf(rw row, col int, f *spec.Field) bool {
	lib, ok := r.libs[f.Rows]
	if !ok {
		r.add(rw.line, col, RuleGroup, "no lib file %s declares the rows of %s%s", f.Rows, f.Name, spelling.DidYouMean(f.Rows, slices.Sorted(maps.Keys(r.libs))))
		return false
	}
	f.Fields, f.Prepare = lib.Row, lib.Prepares && rw.tag == tagArg
	if rw.tag == tagResult {
		f.Fields = lib.Answer
	}
	if len(f.Fields) == 0 {
		r.add(rw.line, col, RuleGroup, "the lib file %s declares no @%s rows", f.Rows, rw.tag)
		return false
	}
	return true
}

func (r *fieldReader) readType(rw row, w string, col int, inGroup bool, f *spec.Field) bool {
	if w == "" || rw.tag != tagKey && !looksLikeType(w) {
		example := "count, int, float, micros, duration, time, bool, text[256], enum(a,b) or group[1..16]"
		if rw.tag == tagKey {
			example = "string[state], list[log], zset[seen], ..."
		}
		if strings.HasPrefix(w, "[") {
			w = ""
		}
		message := "%s has no type, and so no unit: write one of " + example
		if w != "" && spelling.Nearest(w, kinds) != "" {
			r.add(rw.line, col, RuleUnknownType, "unknown type %q%s", w, spelling.DidYouMean(w, kinds))
			return false
		}
		r.add(rw.line, col, RuleMissingType, message, f.Name)
		return false
	}
	var bad *typeError
	if rw.tag == tagKey {
		if !strings.ContainsAny(w, "[(") && !slices.Contains(redisTypes, w) {
			r.add(rw.line, col, RuleMissingType, "%s has no type: a key names its Redis type and its suffix: string[state], list[log], ...", f.Name)
			return false
		}
		bad = readKeyType(w, inGroup, f)
	} else {
		bad = readType(w, rw.tag == tagResult, f)
	}
	if bad != nil {
		r.add(rw.line, col+bad.offset, bad.rule, "%s", bad.message)
		return false
	}
	if rw.tag == tagResult && f.Optional {
		r.add(rw.line, col, RuleOptional, "a result is always there: return what stands for none, and say so in its text, or a bool before it")
	}
	if rw.tag == tagArg && f.Optional && f.Kind == spec.KindText && f.Min == 0 && f.DefaultOf == "" {
		r.add(rw.line, col, RuleOptional, "if omitted, %s is empty: give it a lower bound of 1", f.Name)
	}
	if rw.tag == tagArg && f.Optional && f.Kind == spec.KindGroup {
		r.add(rw.line, col, RuleOptional, "a group is optional when its lower bound is 0")
	}
	return true
}

func (r *fieldReader) insert(rw row, fields []spec.Field, f spec.Field, col int) []spec.Field {
	for _, other := range fields {
		if other.Name == f.Name {
			r.add(rw.line, col, RuleDuplicate, "%s is already declared on line %d", f.Name, other.Line)
			return fields
		}
		if f.Kind == spec.KindKey && other.Kind == spec.KindKey && !f.Several && other.Suffix == f.Suffix && other.SuffixKind == f.SuffixKind && other.SuffixOf == f.SuffixOf &&
			slices.Equal(other.SuffixBy, f.SuffixBy) {
			r.add(rw.line, col, RuleDuplicate, "%s and %s have the suffix %s: they would be one key", other.Name, f.Name, f.Suffix)
		}
	}
	return append(fields, f)
}

func (r *fieldReader) checkName(rw row, name string, col int) bool {
	switch {
	case !nameForm.MatchString(name):
		r.add(rw.line, col, RuleName, "%q is not a name of whole words in snake_case", name)
	case isKeyword(name):
		r.add(rw.line, col, RuleName, "%s is a Lua keyword", name)
	default:
		for _, suffix := range unitSuffixes {
			if base, ok := strings.CutSuffix(name, suffix); ok && base != "" {
				r.add(rw.line, col, RuleUnit, "the unit belongs to the type: call it %s (Lua sees the unit's suffix)", base)
				return false
			}
		}
		return true
	}
	return false
}

// checkEnums finds an argument and a result of one name whose values differ: a client has one type for both.
func (r *fieldReader) checkEnums(params, results []spec.Field) {
	for _, p := range params {
		for _, q := range results {
			if p.Name != q.Name {
				continue
			}
			if p.Kind == spec.KindGroup && p.Rows == q.Rows { // else they are of two types
				r.checkEnums(p.Fields, q.Fields)
			}
			if p.Values != nil && q.Values != nil && !slices.Equal(p.Values, q.Values) {
				r.add(q.Line, q.Col, RuleDuplicate, "%s is an argument with other values on line %d: give both the same, or another name", q.Name, p.Line)
			}
		}
	}
}

// checkSubject finds arguments that have the name by which callers give the call's subject.
func (r *fieldReader) checkSubject(params []spec.Field) {
	for i, p := range params {
		if p.Name == spec.Subject && (p.Kind != spec.KindKey || p.Several || i > 0) {
			r.add(p.Line, p.Col, RuleName, "callers give the subject of the first key as %s: call it something else", spec.Subject)
		}
	}
}

// checkWith finds keys that depend on an argument whose presence the start of a call does not show, and keys that follow repeated
// ones.
func (r *fieldReader) checkWith(params []spec.Field) {
	why := map[string]string{} // why no key goes with an argument; "" where one may
	for _, p := range params {
		switch {
		case p.Kind == spec.KindKey:
		case (p.Kind != spec.KindText || !p.Optional) && (p.Kind != spec.KindGroup || p.Min > 0):
			why[p.Name] = "a key goes with an optional text or a group that may have no rows, and " + p.Name + " is neither"
		default:
			why[p.Name] = ""
		}
	}
	var first, last *spec.Field // the first key, and the last that a call may lack
	own := map[string]bool{}
	for _, p := range params {
		if p.Kind != spec.KindKey {
			continue
		}
		reason, known := why[p.With]
		sameOwn, seen := own[p.With]
		switch {
		case first == nil && (p.With != "" || p.Several):
			r.add(p.Line, p.Col, RuleKeys, "the first key names the call's subject: it is always there")
		case last != nil && last.Several:
			r.add(p.Line, p.Col, RuleKeys, "%s comes after %s, which repeats: repeated keys come last", p.Name, last.Name)
		case p.With == "" && !p.Several && last != nil:
			r.add(p.Line, p.Col, RuleKeys, "%s is required, so it must precede %s, which is optional", p.Name, last.Name)
		case p.With == "":
		case !known:
			r.add(p.Line, p.Col, RuleKeys, "%s goes with %q, which is not an argument", p.Name, p.With)
		case reason != "":
			r.add(p.Line, p.Col, RuleKeys, "%s", reason)
		case seen && sameOwn != p.Own:
			r.add(p.Line, p.Col, RuleKeys, "all keys that go with %s have one subject: write .%s after each, or after none", p.With, subjectOf)
		}
		own[p.With] = p.Own
		if first == nil {
			first = &p
		}
		if p.With != "" || p.Several {
			last = &p
		}
	}
}

// lasting is the word behind a key's type that allows it to stay without an expiry.
const lasting = "forever"

// checkGroups finds groups without fields and suffixes that name no text field.
func (r *fieldReader) checkGroups(fields []spec.Field) {
	for _, g := range fields {
		if g.Kind != spec.KindGroup || g.Rows != "" {
			continue
		}
		if len(g.Fields) == 0 {
			r.add(g.Line, g.Col, RuleGroup, "group %s has no fields: add rows named %s.<field>", g.Name, g.Name)
		}
		r.checkRow(g.Name, g.Fields)
	}
}

// subjectOf is how callers name the subject of a group's row: limits.1.of.
const subjectOf = "of"

// checkRow finds suffixes that name no text field of the row, and a field of the name by which a row's own subject is given.
func (r *fieldReader) checkRow(name string, row []spec.Field) {
	g := spec.Field{Name: name, Fields: row}
	for _, f := range row {
		if f.Name == subjectOf && len(g.Keys()) > 0 {
			r.add(f.Line, f.Col, RuleName, "%s names the subject of a row that has keys: call the field something else", f.Name)
		}
	}
	for _, key := range g.Keys() {
		r.checkEnds(key, row, RuleGroup, name+".%s is not a text field of the group without a default")
		kind := func(f spec.Field) bool { return f.Name == key.SuffixKind && f.Kind == spec.KindEnum && !f.Optional }
		if key.SuffixKind != "" && !slices.ContainsFunc(g.Fields, kind) {
			r.add(key.Line, key.Col, RuleGroup, "%s.%s is not a required enum field of the group", g.Name, key.SuffixKind)
		}
	}
}

// checkEnds finds names in a key's suffix that cannot be part of it: the last is a text, and the others may be durations. Clients make the key,
// and do not know a default.
func (r *fieldReader) checkEnds(key spec.Field, fields []spec.Field, rule, format string) {
	for i, name := range append(slices.Clone(key.SuffixBy), key.SuffixOf) {
		last := i == len(key.SuffixBy)
		if name != "" && !slices.ContainsFunc(fields, func(f spec.Field) bool {
			return f.Name == name && f.DefaultOf == "" && f.Default == nil && (f.Kind == spec.KindText || f.Kind == spec.KindDuration && !last)
		}) {
			r.add(key.Line, key.Col, rule, format, name)
		}
	}
}

// documentShared adds to the doc which arguments make two keys one.
func documentShared(fn *spec.Function) {
	for i, k := range fn.Params {
		for _, other := range fn.Params[:i] {
			if k.SuffixOf != "" && other.SuffixOf != "" && k.Suffix == other.Suffix && slices.Equal(k.SuffixBy, other.SuffixBy) {
				if fn.Doc != "" {
					fn.Doc += "\n\n"
				}
				fn.Doc += fmt.Sprintf("If %s and %s are equal, %s and %s are one key.", other.SuffixOf, k.SuffixOf, other.Name, k.Name)
			}
		}
	}
}
