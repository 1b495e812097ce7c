package policy

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A field is one key of a section: the struct's tags are the one place where its bounds stand, for Check and schema.json.
type field struct {
	key      string
	index    int
	typ      reflect.Type
	required bool
	bounds   *span  // of the value, or of each element
	items    *span  // of how many elements
	format   string // a key of formats, for text: the value, each element, or each key of a map
	not      string // a value of the enum that is not for this field
}

// A span is what lies between two values, as they are written and as numbers.
type span struct {
	minText, maxText string
	min, max         float64
}

func (s *span) holds(n float64) bool { return s.min <= n && n <= s.max }

func (s *span) String() string {
	if s.min == s.max {
		return s.minText
	}
	return s.minText + " to " + s.maxText
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	microsType   = reflect.TypeFor[Micros]()
	byType       = reflect.TypeFor[By]()
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
		default:
			f.bounds = readSpan(rule, scalarOf(f.typ))
		}
	}
}

// scalarOf returns what a pointer, a list or a map holds.
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
		panic(fmt.Sprintf("policy: tag %q is no span", text))
	}
	return &span{minText: low, maxText: high, min: mustNumber(low, t), max: mustNumber(high, t)}
}

// mustNumber is for tags: all of them are read by the first test that checks a policy.
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
