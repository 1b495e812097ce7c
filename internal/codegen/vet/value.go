package vet

import (
	"cmp"
	"slices"
	"strings"
)

// A kind is a set of possible types of a value, one bit each.
type kind uint16

const (
	isNil   kind = 1 << iota
	isFalse      // false
	isTrue       // true
	isInt        // a whole number
	isFrac       // a number that a visible division or literal makes fractional
	isNum        // an unknown number, as tonumber of stored text
	isStr
	isTable
	isFunc

	isBool   = isFalse | isTrue
	isNumber = isInt | isFrac | isNum
	isFalsy  = isNil | isFalse
	isAny    = isNil | isBool | isNum | isStr | isTable | isFunc
)

// A taint is the origin of a string's bytes.
type taint uint8

const (
	fromCaller taint = 1 << iota // a text argument
	fromKey                      // a key's name
	fromStore                    // a key's content
	stored                       // with fromStore: a single field or score, which may be a number
	increased                    // no origin: a count that has what the call has added
	adrift                       // no origin: a span that may be 0 or less: see drifts
	setBack                      // no origin: below 0 after the clock was set back, or for some time of the caller: see setsBack
	packs                        // with fromStore: packed or joined from what the keys of its reply hold, or the only key that the call reads
)

// A value describes one Lua value on one path.
type value struct {
	kinds     kind
	present   bool     // a condition has excluded nil and false
	assumed   bool     // an operation that fails for nil has excluded nil
	lenient   bool     // unknown, so no rule may conclude from it
	fixed     bool     // a string made of literals only
	digits    bool     // a string that is a whole number
	content   bool     // a number that grows with a key's content
	floored   bool     // rounded down from a fraction: it may be 0
	minusZero bool     // a number that may be -0
	product   bool     // of a stored number that nothing bounds, or a sum with a number beyond the whole ones
	reads     bool     // a table that is a reply of unknown length
	taint     taint    //
	json      json     // decoded
	unit      unit     // of a span or a time
	left      int8     // calculated from the reply of TTL or PTTL: 1 grows with it, -1 falls
	in        interval // the numbers that it may be
	literal   *string  // its only possible string or number
	reply     []string // keys whose content this reply depends on
	objects   []int    // tables
	proof     *proof   // what it is if its key has no expiry
	rare      *rare    // nil if all of it is empty
}

// A rare holds what few values have, so that the others are small. It never changes.
type rare struct {
	prefix string   // the beginning of a string without a literal
	name   string   // the number argument that it is
	param  string   // the text or enum argument that it is, as declared
	span   string   // the duration argument that it is, also in another unit or rounded
	count  string   // the key whose number of elements it is
	keys   []string // the declared keys that it may be; a key parameter
	enum   []string // the strings that it may be
	fns    []*closure
	order  *order // what it says of a time to live
}

var nothingRare rare

// rares returns what few values have.
func (v *value) rares() *rare {
	if v.rare == nil {
		return &nothingRare
	}
	return v.rare
}

func (v *value) setRares(r rare) {
	v.rare = nil
	if !r.equals(&nothingRare) {
		v.rare = &r
	}
}

func (v *value) name() string    { return v.rares().name }
func (v *value) param() string   { return v.rares().param }
func (v *value) span() string    { return v.rares().span }
func (v *value) keys() []string  { return v.rares().keys }
func (v *value) enum() []string  { return v.rares().enum }
func (v *value) order() *order   { return v.rares().order }
func (v *value) fns() []*closure { return v.rares().fns }

// prefix returns the beginning of a string.
func (v *value) prefix() string {
	if v.literal != nil && v.may(isStr) {
		return *v.literal
	}
	return v.rares().prefix
}

func (v *value) setPrefix(prefix string) {
	if r := *v.rares(); r.prefix != prefix {
		r.prefix = prefix
		v.setRares(r)
	}
}

func (v *value) setSpan(name string) {
	if r := *v.rares(); r.span != name {
		r.span = name
		v.setRares(r)
	}
}

func (v *value) setOrder(o *order) {
	if r := *v.rares(); r.order != o {
		r.order = o
		v.setRares(r)
	}
}

func (v *value) setEnum(list []string) {
	r := *v.rares()
	r.enum = list
	v.setRares(r)
}

// A closure is a function value, the author's or Redis's.
type closure struct {
	fn      *function
	loaded  bool // made while the library was loaded
	builtin string
}

func of(k kind) value        { return value{kinds: k} }
func unknown() value         { return value{kinds: isAny} }
func anything() value        { return value{kinds: isAny, lenient: true} }
func builtin(n string) *rare { return &rare{fns: []*closure{{builtin: n}}} }

func text(s *string) value {
	return value{kinds: isStr, literal: s, fixed: true}
}

func (v value) may(k kind) bool  { return v.kinds&k != 0 }
func (v value) only(k kind) bool { return v.kinds != 0 && v.kinds&^k == 0 }

// vague reports whether nothing is known of the kind.
func (v value) vague() bool { return v.lenient || v.kinds == isAny }

// number returns the number of a literal value.
func (v value) number() (float64, bool) {
	if v.literal == nil || !v.may(isNumber|isStr) {
		return 0, false
	}
	return parseNumber(*v.literal)
}

// join returns a value that may be a or b.
func join(a, b value) value {
	if a.kinds == 0 {
		return b
	}
	if b.kinds == 0 {
		return a
	}
	out := value{
		kinds:     a.kinds | b.kinds,
		assumed:   a.assumed || b.assumed,
		lenient:   a.lenient || b.lenient,
		fixed:     a.fixed && b.fixed,
		taint:     a.taint | b.taint,
		objects:   union(a.objects, b.objects),
		reply:     union(a.reply, b.reply),
		content:   a.content || b.content,
		floored:   a.floored || b.floored,
		digits:    a.digits && b.digits,
		reads:     a.reads || b.reads,
		minusZero: a.minusZero || b.minusZero,
		left:      a.left,
		json:      max(a.json, b.json),
		product:   a.product || b.product,
		present:   a.present || b.present,
	}
	if a.literal != nil && b.literal != nil && *a.literal == *b.literal {
		out.literal = a.literal
	}
	if out.left == 0 {
		out.left = b.left
	}
	out.proof = a.proof.and(b.proof)
	switch {
	case a.may(isNumber) && b.may(isNumber) || a.may(isStr) && b.may(isStr) && !a.may(isNumber) && !b.may(isNumber):
		out.in = a.interval().join(b.interval())
	case a.in.known && b.in.known:
		out.in = a.in.join(b.in)
	case b.may(isNumber) || !a.may(isNumber) && !a.may(isStr):
		out.in = b.in
	default:
		out.in = a.in
	}
	switch {
	case a.unit == b.unit || b.literal != nil || !b.may(isNumber|isStr):
		out.unit = a.unit
	case a.literal != nil || !a.may(isNumber|isStr):
		out.unit = b.unit
	}
	if a.rare == b.rare && (out.literal != nil || a.literal == nil && b.literal == nil) {
		out.rare = a.rare
		return out
	}
	rares := joinRares(&a, &b)
	if out.literal == nil {
		rares.prefix = commonPrefix(a.prefix(), b.prefix())
	}
	out.setRares(rares)
	return out
}

// mostTexts is the most strings that a joined value may be, one by one.
const mostTexts = 64

func joinRares(a, b *value) (out rare) {
	x, y := a.rares(), b.rares()
	out.order = x.order.and(y.order)
	if x.name == y.name {
		out.name = x.name
	}
	if len(x.keys) > 0 && len(y.keys) > 0 || a.only(isFalsy) || b.only(isFalsy) {
		out.keys = union(x.keys, y.keys) // if one side is not a key, neither is the whole
	}
	if x.count == y.count {
		out.count = x.count
	}
	out.param = cmp.Or(x.param, y.param)
	switch {
	case x.span == y.span || b.literal != nil && b.may(isNumber):
		out.span = x.span
	case a.literal != nil && a.may(isNumber):
		out.span = y.span
	}
	if texts := a.texts(); len(texts) > 0 && len(texts) < mostTexts {
		if others := b.texts(); len(others) > 0 {
			out.enum = union(texts, others)
		}
	}
	for _, fn := range slices.Concat(x.fns, y.fns) {
		if !slices.ContainsFunc(out.fns, func(c *closure) bool { return *c == *fn }) {
			out.fns = append(out.fns, fn)
		}
	}
	return out
}

// joined returns a value that may be a or b, and a itself where that says all.
func joined(a, b *value) *value {
	if a == b || a.equals(b) {
		return a
	}
	both := join(*a, *b)
	if both.equals(a) {
		return a
	}
	out := both // only this copy is on the heap
	return &out
}

func (v *value) equals(o *value) bool {
	return v.kinds == o.kinds && v.assumed == o.assumed && v.lenient == o.lenient && v.fixed == o.fixed && v.taint == o.taint &&
		v.content == o.content && v.floored == o.floored && v.digits == o.digits && v.reads == o.reads && v.present == o.present && v.minusZero == o.minusZero && v.left == o.left && v.json == o.json && v.product == o.product && v.unit == o.unit && v.in == o.in &&
		v.literal == o.literal && v.proof == o.proof &&
		slices.Equal(v.objects, o.objects) && slices.Equal(v.reply, o.reply) &&
		(v.rare == o.rare || v.rares().equals(o.rares()))
}

func (a *rare) equals(b *rare) bool {
	return a.order.equals(b.order) && a.prefix == b.prefix && a.name == b.name && slices.Equal(a.keys, b.keys) && a.param == b.param && a.span == b.span && a.count == b.count && slices.Equal(a.enum, b.enum) && slices.Equal(a.fns, b.fns)
}

func union[T string | int](a, b []T) []T {
	if len(b) == 0 {
		return a
	}
	if len(a) == 0 {
		return b
	}
	if !slices.ContainsFunc(b, func(x T) bool { return !slices.Contains(a, x) }) {
		return a
	}
	out := append(slices.Clone(a), b...)
	slices.Sort(out)
	return slices.Compact(out)
}

func commonPrefix(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

// truthy and falsy return the value after a condition on it held or failed. A value without kinds is impossible.
func (v value) truthy() value {
	v.present = v.present || v.may(isFalsy)
	v.kinds &^= isFalsy
	return v
}

func (v value) falsy() value {
	prefix := v.prefix()
	v.kinds &= isFalsy
	if v.kinds == 0 {
		return v
	}
	v.literal, v.objects = nil, nil
	if r := *v.rares(); prefix != "" || v.rare != nil {
		r.prefix, r.keys, r.name, r.fns = prefix, nil, "", nil
		v.setRares(r)
	}
	return v
}

// describe returns the kinds as text for a message.
func (v value) describe() string {
	var parts []string
	truth := "a bool"
	if !v.may(isTrue) {
		truth = "false"
	}
	for _, k := range []struct {
		bit  kind
		name string
	}{{isNil, "nil"}, {isBool, truth}, {isNumber, "a number"}, {isStr, "a string"}, {isTable, "a table"}, {isFunc, "a function"}} {
		if v.may(k.bit) {
			parts = append(parts, k.name)
		}
	}
	switch len(parts) {
	case 0:
		return "nothing"
	case 1:
		return parts[0]
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " or " + parts[len(parts)-1]
}
