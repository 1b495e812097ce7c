package policy

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A field is one key of a section. Struct tags hold its bounds, both for Check and for schema.json.
type field struct {
	key      string
	index    int
	typ      reflect.Type
	required bool
	bounds   *span  // of the value, or of each element
	items    *span  // of the number of elements
	format   string // key of formats, for text: the value, each element, or each key of a map
	not      string // value of the enum that this field does not allow
	kinds    map[Kind]kindRule
}

// A kindRule is how a field differs in a limit of a kind.
type kindRule struct {
	bounds *span // of the value; nil if it does not differ
	none   bool  // the kind does not have the field
}

// A span is a closed interval, as text and as numbers.
type span struct {
	minText, maxText string
	min, max         float64
}

func (s *span) contains(n float64) bool { return s.min <= n && n <= s.max }

func (s *span) String() string {
	if s.min == s.max {
		return s.minText
	}
	return s.minText + " to " + s.maxText
}

// entries returns the span as a number of entries.
func (s *span) entries() string {
	unit := " entries"
	if s.max == 1 {
		unit = " entry"
	}
	if s.min == 0 {
		return "at most " + s.maxText + unit
	}
	return s.String() + unit
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	microsType   = reflect.TypeFor[Micros]()
	byType       = reflect.TypeFor[By]()
	startsType   = reflect.TypeFor[Starts]()
	fieldCache   sync.Map // reflect.Type to []field
)

// fieldsOf returns the keys of a section in the order of its struct.
func fieldsOf(t reflect.Type) []field {
	if known, ok := fieldCache.Load(t); ok {
		return known.([]field)
	}
	fields := make([]field, t.NumField())
	for i := range fields {
		f := t.Field(i)
		fields[i] = field{key: f.Tag.Get("yaml"), index: i, typ: f.Type}
		fields[i].read(f.Tag.Get("policy"))
	}
	fieldCache.Store(t, fields)
	return fields
}

func (f *field) read(tag string) {
	for rule := range strings.SplitSeq(tag, ",") {
		name, value, _ := strings.Cut(rule, "=")
		switch name {
		case "":
		case "required":
			f.required = true
		case "items":
			f.items = readSpan(value, reflect.TypeFor[int]())
		case "is":
			f.format = value
		case "not":
			f.not = value
		case string(Quota), string(Concurrency):
			rule := kindRule{none: value == "none"}
			if !rule.none {
				rule.bounds = readSpan(value, scalarOf(f.typ))
			}
			if f.kinds == nil {
				f.kinds = map[Kind]kindRule{}
			}
			f.kinds[Kind(name)] = rule
		default:
			f.bounds = readSpan(rule, scalarOf(f.typ))
		}
	}
}

// of returns the field as it is in a limit of a kind.
func (f field) of(k Kind) field {
	rule := f.kinds[k]
	if rule.bounds != nil {
		f.bounds = rule.bounds
	}
	f.required = f.required && !rule.none
	return f
}

// scalarOf returns the element type of a pointer, a list or a map, and any other type itself.
func scalarOf(t reflect.Type) reflect.Type {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return t.Elem()
	}
	return t
}

func readSpan(text string, t reflect.Type) *span {
	low, high, ok := strings.Cut(text, "..")
	if !ok {
		panic(fmt.Sprintf("policy: tag %q is not a span", text))
	}
	return &span{minText: low, maxText: high, min: mustNumber(low, t), max: mustNumber(high, t)}
}

// mustNumber reads a number of a tag. It panics in the first test that checks a policy, because that reads all tags.
func mustNumber(text string, t reflect.Type) float64 {
	var n float64
	var err error
	switch t {
	case durationType:
		var d time.Duration
		d, err = parseDuration(text)
		n = float64(d)
	case microsType:
		var m Micros
		m, err = ParseMicros(text)
		n = float64(m)
	default:
		n, err = strconv.ParseFloat(text, 64)
	}
	if err != nil {
		panic(fmt.Sprintf("policy: tag %q: %v", text, err))
	}
	return n
}
