package policy

import (
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/internal/spelling"
)

// bounds checks each value against its field's tags. A zero value is omitted, unless given reports that the file sets it.
type bounds struct {
	found *problems
	given func(path string) bool
	// kinds are the kinds of limits by name: plans have the bounds of their limit's kind
	kinds map[string]Kind

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
				b.section(name, value, b.kinds[key.String()])
			} else {
				b.number(name, value, f)
			}
		}
	case reflect.String:
		if e, ok := v.Interface().(enum); ok {
			b.enum(at, v.String(), e, f)
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

func (b *bounds) enum(at, value string, e enum, f *field) {
	values := slices.DeleteFunc(e.values(), func(v string) bool { return v == f.not })
	if !slices.Contains(values, value) {
		b.found.add(at, "must be %s, got %s%s", either(values), quote(value), spelling.DidYouMean(value, values))
	}
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
	var n float64
	if v.CanFloat() {
		n = v.Float()
	} else {
		n = float64(v.Int())
	}
	switch {
	case f.format == "share":
		if math.IsNaN(n) || n <= 0 || n > 1 {
			b.found.add(at, "must be above 0 and at most 1, got %v", n)
		}
	case f.bounds != nil && !f.bounds.contains(n):
		b.found.add(at, "must be %s, got %s", f.bounds, format(v))
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
