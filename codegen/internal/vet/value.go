package vet

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// kinds is a set of types.
type kinds uint16

const (
	isNil kinds = 1 << iota
	isFalse
	isTrue
	isNumber
	isString
	isTable
	isFunc
	// isDoubt is nil or false, but only where a key holds what the library did not write, or a field is read before it is set. Only an argument
	// of redis.call counts it, because there it would crash a server.
	isDoubt
	isOther // nothing is known of it

	isBool  = isFalse | isTrue
	isPlain = isNumber | isString
	falsy   = isNil | isFalse | isDoubt
)

// traits are what else matters of a string or a number.
type traits uint16

const (
	fromCaller traits = 1 << iota // it has bytes of a text argument
	fromKey                       // it has bytes of a key's name or content
	long                          // a number that may have more than 14 digits
	score                         // a number as text
	span                          // a duration of the caller
	loose                         // a number where there may be none: tonumber, or an element by a computed index
)

// A value is what an expression may be: simple types, joined over everything that may lead there.
type value struct {
	kinds  kinds
	traits traits
	unit   string        // us, ms or s
	open   bool          // it may be another string or number than texts
	texts  []string      // strings and numbers that it may be, sorted
	lead   string        // how its string begins
	reply  string        // the command whose reply it is, or an element of it
	arg    *spec.Field   // the argument that it is, unchanged
	keys   []*spec.Field // declared keys that it may be
	objs   []*object
	fns    []*function
	names  []string // functions of Lua or Redis that it may be
}

// An object stands for every table that one place of the source, the header or a reply makes.
type object struct {
	fields   map[string]*cell
	set      map[string]bool // fields that are always there
	stored   cell            // what assignments put at computed indexes
	elem     cell            // what computed indexes find
	least    int             // elements that are always there
	most     int             // elements that there may be; 0 if that is not known
	row      string          // of a packed group: the lib file that declares its rows
	reply    string          // the command that it is the reply of, or a header's list
	large    bool            // a reply that may have more than 1,000 elements
	failed   bool            // an error, as redis.pcall returns
	named    bool            // computed names may be in it
	replaced bool            // assignments may replace elements of the constructor
	top      bool            // it is made while the library loads
}

// A cell is what is known across functions.
type cell struct {
	value
	assigned bool // of a field: a statement sets it
}

func newObject() *object { return &object{fields: map[string]*cell{}, set: map[string]bool{}} }

const mostTexts = 8

func of(k kinds) value { return value{kinds: k, open: k&isPlain != 0} }

func anything() value { return value{kinds: isOther, open: true} }

func text(s string) value { return value{kinds: isString, texts: []string{s}} }

func table(o *object) value { return value{kinds: isTable, objs: []*object{o}} }

// only reports whether a value is surely of some types.
func (v value) only(k kinds) bool { return v.kinds != 0 && v.kinds&^k == 0 }

// doubted returns a value of which nil and false are in doubt.
func (v value) doubted() value {
	if v.may(isNil|isFalse) && !v.may(isTrue) {
		v.kinds = v.kinds&^(isNil|isFalse) | isDoubt
	}
	return v
}

func (v value) may(k kinds) bool { return v.kinds&k != 0 }

// known reports whether everything that a value may be is known.
func (v value) known() bool { return v.kinds != 0 && v.kinds&isOther == 0 }

// literal returns the one string or number that a value is.
func (v value) literal() (string, bool) {
	if v.open || len(v.texts) != 1 || v.kinds&isPlain == 0 || len(v.keys) > 0 {
		return "", false
	}
	return v.texts[0], true
}

// without returns a value with fewer types.
func (v value) without(k kinds) value {
	v.kinds &^= k
	if v.kinds&(isPlain|isOther) == 0 {
		v.texts, v.open, v.keys = nil, false, nil
	}
	if v.kinds&isTable == 0 {
		v.objs = nil
	}
	if v.kinds&isFunc == 0 {
		v.fns, v.names = nil, nil
	}
	return v
}

func join(a, b value) value {
	switch {
	case a.kinds == 0:
		return b
	case b.kinds == 0:
		return a
	case a.kinds&^falsy == 0:
		b.kinds |= a.kinds
		return b
	case b.kinds&^falsy == 0:
		a.kinds |= b.kinds
		return a
	}
	out := value{
		kinds: a.kinds | b.kinds, traits: a.traits | b.traits, open: a.open || b.open,
		texts: union(a.texts, b.texts), keys: union(a.keys, b.keys), objs: union(a.objs, b.objs), fns: union(a.fns, b.fns), names: union(a.names, b.names),
	}
	if out.open || len(out.texts) > mostTexts {
		out.texts, out.open = nil, true
	}
	if a.unit == b.unit {
		out.unit = a.unit
	}
	if a.reply == b.reply {
		out.reply = a.reply
	}
	if a.arg == b.arg {
		out.arg = a.arg
	}
	if a.lead == b.lead {
		out.lead = a.lead
	}
	return out
}

func union[T comparable](a, b []T) []T {
	if len(b) == 0 {
		return a
	}
	out := a
	for _, x := range b {
		if !slices.Contains(out, x) {
			out = append(out[:len(out):len(out)], x)
		}
	}
	return out
}

func joinAll(list []value) (out value) {
	for _, v := range list {
		out = join(out, v)
	}
	return out
}

// grow joins a value into another one, and reports whether that changed it.
func grow(to *value, v value) bool {
	old := *to
	*to = join(old, v)
	return old.kinds != to.kinds || old.traits != to.traits || old.open != to.open || len(old.texts) != len(to.texts) || len(old.keys) != len(to.keys) ||
		len(old.objs) != len(to.objs) || len(old.fns) != len(to.fns) || len(old.names) != len(to.names) || old.unit != to.unit || old.reply != to.reply ||
		old.arg != to.arg || old.lead != to.lead
}

// describe names the types of a value that are wrong somewhere.
func (k kinds) describe() string {
	var names []string
	for _, n := range []struct {
		k    kinds
		name string
	}{{isNil | isDoubt, "nil"}, {isFalse, "false"}, {isTrue, "true"}, {isNumber, "a number"}, {isString, "a string"}, {isTable, "a table"}, {isFunc, "a function"}, {isOther, "anything"}} {
		if k&n.k != 0 {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, " or ")
}

// index returns the element or field that a key finds in a table.
func (o *object) index(key value, literalKey bool) value {
	name, known := key.literal()
	if !known || !literalKey {
		out := o.elem.value
		if len(key.texts) > 0 && !key.open && key.only(isString) {
			for _, t := range key.texts {
				out = join(out, o.field(t))
			}
			return out
		}
		if o.elem.kinds == 0 || key.may(isString|isOther) {
			for _, f := range o.fields {
				out = join(out, f.value)
			}
		}
		if key.may(isString) && o.reply == "" {
			out.kinds |= isDoubt
		}
		out.traits |= loose
		return out
	}
	return o.field(name)
}

func (o *object) field(name string) value {
	if known := o.fields[name]; known != nil {
		v := known.value
		if _, element := number(name); element && o.replaced {
			v = join(v, o.stored.value)
		}
		if !o.set[name] && o.row == "" {
			v.kinds |= isDoubt
		}
		if known.assigned && v.may(isNil|isFalse) { // perhaps not where it is read
			v = v.doubted()
		}
		return v
	}
	var v value
	if n, ok := number(name); ok {
		v = o.elem.value
		switch {
		case n >= 1 && int(n) <= o.least:
		case o.reply != "":
			v.kinds |= isNil
		default:
			v.kinds |= isDoubt
		}
		return v
	}
	if o.named {
		v = o.elem.value
	}
	v.kinds |= isDoubt
	return v
}

// lacks reports whether nothing ever sets a field or an element of a table.
func (o *object) lacks(name string) bool {
	return o.fields[name] == nil && o.reply == "" && o.row == "" && o.elem.kinds == 0 && !o.named
}

// fieldAt returns a field to set.
func (o *object) fieldAt(name string) *cell {
	if o.fields[name] == nil {
		o.fields[name] = &cell{}
	}
	return o.fields[name]
}

func (o *object) has(name string, v value) {
	o.fields[name], o.set[name] = &cell{value: v}, true
}

// number reads a literal.
func number(text string) (float64, bool) {
	if hex, ok := strings.CutPrefix(strings.ToLower(text), "0x"); ok {
		n, err := strconv.ParseUint(hex, 16, 64)
		return float64(n), err == nil
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil
}
