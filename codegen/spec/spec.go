// Package spec is the contract of a library as plain data: what the annotations say, and nothing of Lua or Go.
//
// Its JSON form is for generators of clients in other languages and for what a bundle says of itself, so the names are an interface: Format
// goes up when they change.
package spec

import (
	"math"
	"slices"
	"strconv"
)

// Format is the version of the JSON form.
const Format = 1

// MaxInt is the greatest integer on any border: every integer up to it is exact in a Lua number.
const MaxInt = 1 << 53

// MaxSigned is the greatest int, and -MaxSigned the least. It is also the greatest bound that a float may have.
const MaxSigned = MaxInt - 1

// NoMin and NoMax are the bounds of a float on a side that is open: any finite number.
const (
	NoMin = math.MinInt64
	NoMax = math.MaxInt64
)

// MaxDuration is the greatest duration in microseconds (100 years of 365 days): added to any clock it stays below MaxInt.
const MaxDuration = 100 * 365 * 24 * 3600 * 1_000_000

// A Library is one folder of functions.
type Library struct {
	Format    int        `json:"format"`
	Name      string     `json:"name"`             // "ratelimit"
	Version   string     `json:"version"`          // semantic version, "1.0.0"
	Server    string     `json:"server,omitempty"` // the name in Redis, "ratelimit_v1"
	Doc       string     `json:"doc,omitempty"`
	File      string     `json:"file,omitempty"` // where it is declared, "ratelimit/library.lua"
	Line      int        `json:"line,omitempty"` // of the version
	Col       int        `json:"col,omitempty"`
	Functions []Function `json:"functions,omitempty"`
}

// A Function is one public function of a library.
type Function struct {
	Name    string   `json:"name,omitempty"`   // "sliding_log"
	Server  string   `json:"server,omitempty"` // "ratelimit_v1_sliding_log"
	File    string   `json:"file,omitempty"`   // "ratelimit/sliding_log.lua"
	Line    int      `json:"line,omitempty"`   // of `local function`
	Summary string   `json:"summary,omitempty"`
	Doc     string   `json:"doc,omitempty"`     // paragraphs after the summary
	Subject string   `json:"subject,omitempty"` // doc of the subject, where the header has one
	Flags   []string `json:"flags,omitempty"`   // Redis's own: no-writes, allow-oom, ...
	Params  []Field  `json:"params,omitempty"`  // the Lua function's parameters, in order
	Rules   []Rule   `json:"rules,omitempty"`   // what it asks of several arguments together
	Results []Field  `json:"results,omitempty"` // the Lua function's results, in order
	Refused *Refused `json:"refused,omitempty"` // how an answer says that the call was refused; absent if none does
	Errors  []Error  `json:"errors,omitempty"`
	States  []State  `json:"states,omitempty"`   // what it keeps in Redis, as its own file and those it uses declare
	Uses    []string `json:"uses,omitempty"`     // lib files, in the order they are named
	Command []string `json:"commands,omitempty"` // Redis commands that it may run, upper case, sorted: "GET", "XGROUP|CREATE", "PUBLISH|changes"
}

// Has reports whether the function carries a Redis flag.
func (f *Function) Has(flag string) bool { return slices.Contains(f.Flags, flag) }

// OwnCodes are the codes of its errors that not every function has.
func (f *Function) OwnCodes() (codes []string) {
	for _, e := range f.Errors {
		if e.Code != "RLARG" && e.Code != "RLSTATE" {
			codes = append(codes, e.Code)
		}
	}
	return codes
}

// Omissible is how many arguments at the end a call leaves out where they are absent: optional ones, and groups of no rows.
func (f *Function) Omissible() int {
	n := 0
	for _, p := range slices.Backward(f.Params) {
		if p.Kind == KindKey {
			continue
		}
		if !p.Optional && (p.Kind != KindGroup || p.Min > 0) {
			break
		}
		n++
	}
	return n
}

// Subject is how callers name the subject that the keys of a call are made of, whatever Lua calls the first key.
const Subject = "subject"

// Keys are the key parameters outside groups, in order. The first one's subject names the hash tag of all.
func (f *Function) Keys() []Field { return ofKind(f.Params, KindKey) }

// EachKey visits each key, those of groups' rows included, with the words that its suffix may begin with.
func (f *Function) EachKey(visit func(k Field, words []string)) {
	for i := range f.Params {
		p := &f.Params[i]
		if p.Kind == KindKey {
			visit(*p, []string{p.Suffix})
		}
		for _, k := range p.Keys() {
			words := []string{k.Suffix}
			if at := slices.IndexFunc(p.Fields, func(f Field) bool { return f.Name == k.SuffixKind }); at >= 0 {
				words = p.Fields[at].Values
			}
			visit(k, words)
		}
	}
}

// A Kind is what a field carries, with its unit.
type Kind string

// The kinds. Only params have keys, and only groups have fields. An argument group travels as one text, a result group as the number of its
// rows and their fields.
const (
	KindKey      Kind = "key"
	KindGroup    Kind = "group"
	KindCount    Kind = "count"    // a whole number, 0 or more
	KindInt      Kind = "int"      // a whole number that may be below 0
	KindFloat    Kind = "float"    // a finite number with a fraction; its bounds are whole numbers, NoMin and NoMax without
	KindMicros   Kind = "micros"   // millionths of a currency
	KindDuration Kind = "duration" // microseconds
	KindTime     Kind = "time"     // microseconds since 1970
	KindBool     Kind = "bool"
	KindText     Kind = "text"
	KindEnum     Kind = "enum"
)

// Integer reports whether the kind is a whole number on the wire.
func (k Kind) Integer() bool {
	return k == KindCount || k == KindInt || k == KindMicros || k == KindDuration || k == KindTime
}

// Signed reports whether values of the kind may be below 0.
func (k Kind) Signed() bool { return k == KindInt || k == KindFloat }

// A Field is one parameter or result.
type Field struct {
	Name string `json:"name"`          // "retry_after": no unit suffix
	Lua  string `json:"lua,omitempty"` // "retry_after_us": the Lua name, with the unit as suffix
	Kind Kind   `json:"kind,omitempty"`
	Doc  string `json:"doc,omitempty"`
	File string `json:"file,omitempty"` // where it is declared; absent where that is the function's file
	Line int    `json:"line,omitempty"`
	Col  int    `json:"col,omitempty"`

	Min        int64    `json:"min,omitempty"`         // integers: least legal value; text: least bytes; group: least rows
	Max        int64    `json:"max,omitempty"`         // integers: greatest legal value; text: most bytes; group: most rows
	Optional   bool     `json:"optional,omitempty"`    // argument: absent is nil in Lua
	Default    *int64   `json:"default,omitempty"`     // what absent means, where the header says so; bool: 1 or 0
	DefaultOf  string   `json:"default_of,omitempty"`  // text and float, instead of Default
	Values     []string `json:"values,omitempty"`      // enum
	Redis      string   `json:"redis,omitempty"`       // key: string, hash, list, set, zset, stream; any where SuffixKind is set
	With       string   `json:"with,omitempty"`        // key that a call has only with this argument, which is optional text or a group
	Own        bool     `json:"own,omitempty"`         // key with an argument: a call may give the argument's keys a subject of their own
	Several    bool     `json:"several,omitempty"`     // key: a call has Min to Max of them, each of a subject of its own
	Forever    bool     `json:"forever,omitempty"`     // key: what it holds lasts, so calls may leave it without an expiry
	Suffix     string   `json:"suffix,omitempty"`      // key: what comes after the tag, "log"
	SuffixKind string   `json:"suffix_kind,omitempty"` // key in a group, instead of Suffix: the enum field whose value it is
	SuffixOf   string   `json:"suffix_of,omitempty"`   // key: the text argument, or in a group the row's text field, whose value ends the suffix
	SuffixBy   []string `json:"suffix_by,omitempty"`   // key: the durations and texts before SuffixOf; those that are omitted are left out
	Rows       string   `json:"rows,omitempty"`        // group: the lib file that declares its rows; absent where the function does
	Prepare    bool     `json:"prepare,omitempty"`     // group of arguments: the lib file prepares each row once it is decoded
	Fields     []Field  `json:"fields,omitempty"`      // group: one row
}

// DefaultWord returns what an omitted argument means, as its header writes it without the unit, and whether the header says so.
func (f *Field) DefaultWord() (string, bool) {
	switch {
	case f.DefaultOf != "":
		return f.DefaultOf, true
	case f.Default == nil:
		return "", false
	case f.Kind == KindEnum:
		return f.Values[*f.Default], true
	case f.Kind == KindBool:
		return strconv.FormatBool(*f.Default == 1), true
	}
	return strconv.FormatInt(*f.Default, 10), true
}

// TrueByDefault reports whether the field is a bool that is true when it is omitted.
func (f *Field) TrueByDefault() bool {
	return f.Kind == KindBool && f.Default != nil && *f.Default == 1
}

// LuaName is the field's name in Lua, where the unit is a suffix.
func (f *Field) LuaName() string {
	switch f.Kind {
	case KindDuration, KindTime:
		return f.Name + "_us"
	case KindMicros:
		return f.Name + "_micros"
	}
	return f.Name
}

// Span is the range of a number: the greatest finite ones for an open side.
func (f *Field) Span() (least, most float64) {
	least, most = float64(f.Min), float64(f.Max)
	if f.Kind == KindFloat && f.Min == NoMin {
		least = -math.MaxFloat64
	}
	if f.Kind == KindFloat && f.Max == NoMax {
		most = math.MaxFloat64
	}
	return least, most
}

// KeyName is the Lua name of the array that holds one key of an argument group for all rows.
func (f *Field) KeyName(key Field) string { return f.Name + "_" + key.Lua }

// Cells returns the fields of an argument group's row that travel: all but keys. The first least of them must be there; those
// after are optional and may be missing.
func (f *Field) Cells() (cells []Field, least int) {
	for _, c := range f.Fields {
		if c.Kind == KindKey {
			continue
		}
		cells = append(cells, c)
		if !c.Optional {
			least = len(cells)
		}
	}
	return cells, least
}

// SuffixText is a key's suffix as its header writes it: "log:<window>:<name>".
func (f *Field) SuffixText() string {
	return f.SuffixWith(func(name string) string { return "<" + name + ">" })
}

// SuffixWith is a key's suffix with what part makes of the name of each argument, or of each of a row's fields, in it.
func (f *Field) SuffixWith(part func(name string) string) string {
	suffix := f.Suffix
	if f.SuffixKind != "" {
		suffix = part(f.SuffixKind)
	}
	for _, by := range f.SuffixBy {
		suffix += ":" + part(by)
	}
	if f.SuffixOf != "" {
		suffix += ":" + part(f.SuffixOf)
	}
	return suffix
}

// Keys are the keys of a group's row.
func (f *Field) Keys() []Field { return ofKind(f.Fields, KindKey) }

// Refused is what a result says of a refused call: a bool is false, an enum is one of the values. Such a call changes what Records says, and a
// call that returns an error changes nothing.
type Refused struct {
	Result  string   `json:"result"`            // "allowed"
	Values  []string `json:"values,omitempty"`  // enum
	Records string   `json:"records,omitempty"` // what a refused call changes, in words; absent if it changes nothing
}

// An Error is one declared error reply.
type Error struct {
	Code string `json:"code,omitempty"` // "RLARG"
	Doc  string `json:"doc,omitempty"`
}

// A State is something that functions keep in Redis from call to call. Two versions of a library that run side by side, or
// after each other, meet each other's.
type State struct {
	Name   string `json:"name"`             // "log"
	Number int    `json:"number,omitempty"` // of its shape; another number is a shape that cannot be read as this one
	Doc    string `json:"doc,omitempty"`
	File   string `json:"file,omitempty"` // where it is declared, "functions/lib/window_log.lua"
	Line   int    `json:"line,omitempty"`
	Col    int    `json:"col,omitempty"`
}

func ofKind(fields []Field, k Kind) []Field {
	return slices.DeleteFunc(slices.Clone(fields), func(f Field) bool { return f.Kind != k })
}
