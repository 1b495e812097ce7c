package policy

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/goccy/go-yaml/parser"

	"github.com/rlfunc/rlfunc/internal/spelling"
)

// A field is one key of a section. Struct tags hold its bounds and its default, for Check, Complete and docs/policy.schema.json.
type field struct {
	key      string
	index    int
	typ      reflect.Type
	required bool
	plans    bool   // a file may have a value for each plan
	bounds   *span  // of the value, or of each element
	items    *span  // of the number of elements
	format   string // key of formats, for text: the value, each element, or each key of a map
	kinds    map[Kind]kindRule
	ofKind   string // "" or the kind that bounds are of, for messages: " for a sliding_log"

	byDefault reflect.Value // invalid without one, or if it depends on other fields
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
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		if key := f.Tag.Get("yaml"); key != "" {
			one := field{key: key, index: i, typ: f.Type}
			one.read(f.Tag.Get("policy"))
			fields = append(fields, one)
		}
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
		case "plans":
			f.plans = true
		case "items":
			f.items = readSpan(value, reflect.TypeFor[int]())
		case "is":
			f.format = value
		case "default":
			f.byDefault = readTag(value, f.typ)
		case string(SlidingLog), string(Quota), string(Concurrency):
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
		f.bounds, f.ofKind = rule.bounds, " for a "+string(k)
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
	return &span{minText: low, maxText: high, min: asFloat(readTag(low, t)), max: asFloat(readTag(high, t))}
}

// readTag reads a value as a policy has it. It panics in the first test that checks a policy, because that reads all tags.
func readTag(text string, t reflect.Type) reflect.Value {
	file, err := parser.ParseBytes([]byte(text), 0)
	if err != nil {
		panic(fmt.Sprintf("policy: tag %q: %v", text, err))
	}
	v, d := reflect.New(t).Elem(), newDecoder(file.Docs[0].Body)
	if d.decode("", file.Docs[0].Body, v); len(d.found) > 0 {
		panic(fmt.Sprintf("policy: tag %q: %v", text, d.found))
	}
	return v
}

// asFloat returns a number, whatever its type.
func asFloat(v reflect.Value) float64 {
	if v.CanFloat() {
		return v.Float()
	}
	return float64(v.Int())
}

// bounds checks each value against its field's tags. A zero value is omitted, unless given reports that the file sets it.
type bounds struct {
	found   *problems
	given   func(path string) bool
	tooMany bool // a list or mapping has too many entries
}

// section checks a section; kind is that of the limit that it is about, if any.
func (b *bounds) section(path string, v reflect.Value, kind Kind) {
	for _, f := range fieldsOf(v.Type()) {
		f = f.of(kind)
		at := join(path, f.key)
		value := v.Field(f.index)
		if value.IsZero() && !b.given(at) {
			if f.required {
				b.found.add(at, "is required")
			}
			continue
		}
		b.value(at, value, &f)
	}
}

func (b *bounds) value(at string, v reflect.Value, f *field) {
	switch v.Kind() {
	case reflect.Struct:
		l, _ := v.Interface().(Limit)
		b.section(at, v, l.Kind)
	case reflect.Pointer:
		if !v.IsNil() {
			b.value(at, v.Elem(), f)
		}
	case reflect.Slice:
		if !b.count(at, v.Len(), f) {
			return
		}
		for i := range v.Len() {
			b.value(at+"["+strconv.Itoa(i)+"]", v.Index(i), f)
		}
	case reflect.Map:
		if !b.count(at, v.Len(), f) {
			return
		}
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			name := entryPath(at, key.String(), v.Type())
			b.text(name, key.String(), f)
			if value := v.MapIndex(key); value.Kind() == reflect.Struct {
				b.section(name, value, "")
			} else {
				b.number(name, value, f)
			}
		}
	case reflect.String:
		if values := enums[v.Type()]; values != nil {
			b.enum(at, v.String(), values)
		} else {
			b.text(at, v.String(), f)
		}
	case reflect.Bool:
	default:
		b.number(at, v, f)
	}
}

// count reports whether the entries are few enough to be checked one by one.
func (b *bounds) count(at string, n int, f *field) bool {
	if f.items != nil && !f.items.contains(float64(n)) {
		b.found.add(at, "must have %s, got %d", f.items.entries(), n)
		if float64(n) > f.items.max {
			b.tooMany = true
			return false
		}
	}
	return true
}

func (b *bounds) enum(at, value string, values []string) {
	if !slices.Contains(values, value) {
		b.found.add(at, "must be %s, got %s%s", either(values), quote(value), cmp.Or(meant(value, values), spelling.DidYouMean(value, values)))
	}
}

// meant returns the end of a message about a kind that other limiters call by another name, or "".
func meant(value string, values []string) string {
	other := map[string]Kind{"token_bucket": GCRA, "leaky_bucket": GCRA, "sliding_window": SlidingLog, "semaphore": Concurrency}
	if kind, known := other[strings.ReplaceAll(strings.ToLower(value), "-", "_")]; known && slices.Contains(values, string(kind)) {
		return fmt.Sprintf("; a %s is %s here", value, kind)
	}
	return ""
}

func (b *bounds) text(at, value string, f *field) {
	if f.format == "" {
		return
	}
	if message := formats[f.format].check(value); message != "" {
		b.found.add(at, "%s, got %s", message, quote(value))
	}
}

func (b *bounds) number(at string, v reflect.Value, f *field) {
	switch n := asFloat(v); {
	case f.format == "share":
		if math.IsNaN(n) || n <= 0 || n > 1 {
			b.found.add(at, "must be above 0 and at most 1, got %v", n)
		}
	case f.format == "warn":
		if math.IsNaN(n) || n <= 0 || n >= 1 {
			b.found.add(at, "must be above 0 and below 1, got %v", n)
		}
	case f.bounds != nil && !f.bounds.contains(n):
		b.found.add(at, "must be %s%s, got %s", f.bounds, f.ofKind, format(v))
	}
}

// format returns a number as a policy writes it.
func format(v reflect.Value) string {
	switch n := v.Interface().(type) {
	case time.Duration:
		return FormatDuration(n)
	case Micros:
		return n.String()
	}
	return strconv.FormatInt(v.Int(), 10)
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
