package contract

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// A drawer makes random steps of calls whose arguments are within the bounds of the headers.
type drawer struct {
	*rand.Rand
	functions []*function
	words     words
	fills     map[string]bool       // of the watch
	worked    map[*function][]*call // some that have written, and did not fail: most drawn ones get no further than a function's first checks

	// of the running sequence
	used   map[spec.Kind][]string // values that calls have passed: most of what happens needs the same one twice
	calls  []*call
	keys   []keyed
	now    int64
	tame   bool        // no number at its greatest
	sparse bool        // optional arguments are mostly absent
	plain  bool        // foreign content is names and whole numbers
	narrow bool        // the sequence is about few things: each call passes what an earlier one has passed
	cast   []*function // those that it calls
}

func newDrawer(seed uint64, libs []*Library, fills map[string]bool) *drawer {
	d := &drawer{Rand: rand.New(rand.NewPCG(seed, 7)), fills: fills, worked: map[*function][]*call{}}
	for _, l := range libs {
		d.functions = append(d.functions, l.functions...)
		d.words.texts = append(d.words.texts, l.words.texts...)
		d.words.numbers = append(d.words.numbers, l.words.numbers...)
		d.words.json = d.words.json || l.words.json
	}
	return d
}

// start begins a sequence.
func (d *drawer) start() {
	d.used, d.keys, d.now = map[spec.Kind][]string{}, nil, Start.UnixMicro()
	d.calls = nil
	d.tame, d.plain, d.sparse = d.IntN(3) > 0, d.IntN(2) == 0, d.IntN(2) == 0
	d.narrow, d.cast = len(d.functions) > 1 && d.IntN(2) == 0, d.functions
	if d.narrow {
		d.cast = nil
		for range 4 {
			d.cast = append(d.cast, pick(d, d.functions))
		}
	}
}

func pick[T any](d *drawer, from []T) T { return from[d.IntN(len(from))] }

// percent is true so often.
func (d *drawer) percent(n int) bool { return d.IntN(100) < n }

var hostile = []string{
	"a", "b", "c", "ab", "0", "1", "2", "12", "-1", "e2", "1e2", "{}", `{"a":1}`, "[]", "null", " ", ":", "a:b", "a,b", "a;b", "nan", "inf",
	"0x10", "1.5", "%", "%d", "[", "(", "a\nb", "a\x00b", "\xff\xfe", "$1", "+inf", "-inf", "(1", "*", ">", "-", "9007199254740993", "00", "a b", "x", "y", "z",
}

// spellings mean something to a pattern, a replacement, a format or a glob, and not at their beginning: escaped, they are other texts.
var spellings = []string{"k%0k", "k%2k", "k[k", "k.k", "k*k?"}

func (d *drawer) text(f spec.Field) string {
	switch n := d.IntN(100); {
	case d.words.json && f.Max >= 256 && d.percent(70): // a document, and no name
		return d.json()
	case d.narrow:
		return pick(d, hostile[:2])
	case n < 45:
		return pick(d, hostile[:4])
	case n < 70:
		return pick(d, hostile)
	case n < 76:
		return pick(d, spellings)
	case n < 87 && len(d.words.texts) > 0:
		return pick(d, d.words.texts)
	}
	return "m" + strconv.Itoa(d.IntN(1000))
}

var atoms = []string{"null", "true", `"x"`, `"5"`, "-1", "1.5", "{}", "[]", "0", "1", "7", "42"}

func (d *drawer) json() string {
	switch d.IntN(4) {
	case 0, 1:
		return d.object()
	case 2:
		parts := make([]string, d.IntN(4))
		for i := range parts {
			parts[i] = pick(d, atoms)
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	return pick(d, atoms)
}

// object draws one of JSON, with fields that the source names.
func (d *drawer) object() string {
	parts := make([]string, d.IntN(4))
	for i := range parts {
		name := "a"
		if len(d.words.texts) > 0 {
			name = pick(d, d.words.texts)
		}
		parts[i] = strconv.Quote(name) + ":" + pick(d, atoms)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// spans are durations that people pass, in microseconds.
var spans = []int64{1, 1000, 1001, 1_000_000, 1_500_000, 10_000_000, 60_000_000, 60_000_001, 3_600_000_000, 86_400_000_000}

const day = 86_400_000_000

func (d *drawer) number(f spec.Field) int64 {
	lo, hi := f.Min, f.Max
	switch r := d.IntN(100); {
	case r < 15:
		return lo
	case r < 25 && !d.tame:
		return hi
	case r < 50:
		return max(lo, -3) + int64(d.IntN(6))
	case r < 62 && len(d.words.numbers) > 0:
		return pick(d, d.words.numbers) + int64(d.IntN(3)) - 1
	case r < 80 && f.Kind == spec.KindDuration:
		return pick(d, spans)
	case r < 85 && f.Kind == spec.KindTime:
		return d.now + pick(d, []int64{0, 1, -1, 1000, -1000, 1_000_000, -1_000_000, 3_600_000_000, -3_600_000_000, 40 * day})
	}
	n := int64(math.Exp(d.Float64()*math.Log(float64(hi-lo)+1))) - 1 // each order of magnitude is as likely
	if d.tame && n > 1_000_000_000 {
		n = 1_000_000
	}
	return lo + n
}

func (d *drawer) float(f spec.Field) string {
	lo, hi := f.Span()
	v := lo + d.Float64()*(hi-lo)
	if math.IsInf(v, 0) { // both sides are open
		v = (d.Float64() - 0.5) * 1e6
	}
	v = pick(d, []float64{lo, hi, 0, 0.1, 1e-7, math.Trunc(v), float64(d.IntN(7)) - 3.5, v})
	return strconv.FormatFloat(min(max(v, lo), hi)+0, 'g', -1, 64) // not -0
}

// scalar draws a value that is no group.
func (d *drawer) scalar(f spec.Field) (v value) {
	if f.Optional && (d.percent(40) || d.sparse && d.percent(75)) {
		return value{}
	}
	draw := func() string {
		switch f.Kind {
		case spec.KindBool:
			return strconv.Itoa(d.IntN(2))
		case spec.KindEnum:
			return pick(d, f.Values)
		case spec.KindText:
			return d.text(f)
		case spec.KindFloat:
			return d.float(f)
		}
		return strconv.FormatInt(d.number(f), 10)
	}
	if used := d.used[f.Kind]; len(used) > 0 && d.percent(35) {
		v.text = pick(d, used)
	} else {
		v.text = draw()
	}
	for try := 0; !fits(f, v); try++ {
		switch v.text = draw(); {
		case try < 12:
		case f.Kind == spec.KindText:
			v.text = strings.Repeat("q", int(max(f.Min, min(1, f.Max))))
		default:
			v.text = strconv.FormatInt(f.Min, 10)
		}
	}
	if v.text != "" {
		d.use(f.Kind, v.text)
	}
	return v
}

func (d *drawer) use(k spec.Kind, text string) {
	if d.used[k] = append(d.used[k], text); len(d.used[k]) > 12 {
		d.used[k] = d.used[k][1:]
	}
}

// fits reports whether an argument takes a value that another one has.
func fits(f spec.Field, v value) bool {
	switch n, err := strconv.ParseInt(v.text, 10, 64); {
	case f.Kind == spec.KindGroup:
		return int64(len(v.rows)) >= f.Min && int64(len(v.rows)) <= f.Max
	case v.text == "" && f.Optional:
		return true
	case f.Kind == spec.KindText:
		return int64(len(v.text)) >= f.Min && int64(len(v.text)) <= f.Max
	case f.Kind == spec.KindEnum:
		return slices.Contains(f.Values, v.text)
	case f.Kind.Integer():
		return err == nil && n >= f.Min && n <= f.Max
	}
	return true
}

// follow passes what an earlier call has passed, where the arguments are alike: what was acquired is released.
func (d *drawer) follow(c, earlier *call) {
	c.subject = earlier.subject
	for i, f := range c.args {
		for j, g := range earlier.args {
			alike := f.Name == g.Name && slices.EqualFunc(f.cells, g.cells, func(a, b spec.Field) bool { return a.Name == b.Name && a.Kind == b.Kind })
			if v := earlier.values[j]; alike && f.Kind == g.Kind && fits(f.Field, v) && d.percent(90) {
				c.values[i] = v.clone()
			}
		}
	}
}

// value draws an argument.
func (d *drawer) value(f arg) value {
	if f.Kind != spec.KindGroup {
		return d.scalar(f.Field)
	}
	n := f.Min
	switch r := d.IntN(100); {
	case f.Optional && d.IntN(3) == 0, r < 15, d.sparse && r < 80:
	case r < 65:
		n += int64(d.IntN(3))
	case r < 95:
		n += int64(d.IntN(6))
	case r < 99 || f.Max > 10_000 || d.IntN(3) > 0:
		n = 40
	default:
		n = f.Max
	}
	n = max(min(n, f.Max), f.Min)
	v := value{}
	differ := d.percent(70)
	for range n {
		r := row{cells: make([]value, len(f.cells))}
		for i, c := range f.cells {
			r.cells[i] = d.scalar(c)
			for try := 0; differ && try < 3 && (c.Kind == spec.KindEnum || c.Kind == spec.KindText) && slices.ContainsFunc(v.rows, func(o row) bool { return o.cells[i].text == r.cells[i].text }); try++ {
				r.cells[i] = d.scalar(c)
			}
		}
		if len(f.Keys()) > 0 && d.percent(15) {
			r.of = pick(d, subjects)
		}
		v.rows = append(v.rows, r)
	}
	return v
}

var subjects = []string{"u", "v", "w"}

// call draws a call of any function.
func (d *drawer) call() *call {
	c := &call{function: pick(d, d.cast), subject: "u"}
	if d.IntN(4) == 0 && !d.narrow {
		c.subject = pick(d, subjects)
	}
	worked := d.worked[c.function]
	if len(worked) == 0 || d.IntN(3) > 0 {
		d.fill(c)
		return c
	}
	subject := c.subject
	c = pick(d, worked).clone()
	c.subject = subject
	if len(c.args) > 0 && d.IntN(2) == 0 {
		c = d.changed(c)
	}
	d.join(c)
	return c
}

// learn keeps a call that has worked.
func (d *drawer) learn(c *call) {
	if all := d.worked[c.function]; len(all) < 16 {
		d.worked[c.function] = append(all, c)
	} else if d.IntN(4) == 0 {
		all[d.IntN(16)] = c
	}
}

// fill draws the arguments of a call.
func (d *drawer) fill(c *call) {
	c.values = make([]value, len(c.args))
	for i, p := range c.args {
		c.values[i] = d.value(p)
	}
	c.of, c.several = map[string]string{}, map[string][]string{}
	for _, k := range c.Keys() {
		for n := min(k.Max, k.Min+int64(d.IntN(3))); k.Several && n > 0; n-- {
			c.several[k.Name] = append(c.several[k.Name], pick(d, subjects))
		}
		if k.Own && d.IntN(3) == 0 {
			c.of[k.With] = pick(d, subjects)
		}
	}
	d.join(c)
}

// join makes a call one of the sequence: it may pass what an earlier one has passed.
func (d *drawer) join(c *call) {
	if len(d.calls) > 0 && (d.narrow || d.percent(40)) {
		d.follow(c, pick(d, d.calls))
	}
	d.obey(c)
	d.meet(c)
}

// meet notes what a call passes, and its keys, under which foreign content may be put.
func (d *drawer) meet(c *call) {
	d.calls = append(d.calls, c)
	for _, k := range c.keys() {
		switch known := slices.ContainsFunc(d.keys, func(h keyed) bool { return h.name == k.name }); {
		case known:
		case len(d.keys) < 16:
			d.keys = append(d.keys, k)
		default:
			d.keys[d.IntN(16)] = k
		}
	}
}

// advance draws how far the clock moves: the durations that were passed, and one more or less, are where things end.
func (d *drawer) advance() int64 {
	switch r := d.IntN(100); {
	case r < 30:
		return 0
	case r < 40:
		return 1
	case r < 50:
		return 1000
	case r < 60:
		return int64(d.IntN(2_000_000))
	case r < 90:
		used := d.used[spec.KindDuration]
		if len(used) == 0 {
			return pick(d, spans)
		}
		n, _ := strconv.ParseInt(pick(d, used), 10, 64)
		n = min(n, 400*day)
		return max(0, pick(d, []int64{n, n + 1, n - 1, n + 1000, n - 1000, n / 2, 2 * n}))
	case r < 95:
		return day * int64(1+d.IntN(400))
	}
	return -pick(d, []int64{1, 1000, 1_000_000, 3_600_000_000})
}

// sequence draws steps.
func (d *drawer) sequence(foreign bool) (out []Step) {
	d.start()
	n := 1 + d.IntN(10)
	if d.narrow {
		n = 4 + d.IntN(13)
		d.call() // what comes back later: what is acquired may be what will be released
	}
	for range n {
		s := Step{}
		if len(out) > 0 {
			s.Advance = d.advance()
			d.now += s.Advance
		}
		s.call = d.call()
		if foreign && (len(out) == 0 || d.IntN(4) == 0) {
			s.Foreign, s.garbage = d.foreign()
		}
		out = append(out, s)
	}
	return out
}

// crowd draws many steps: most are one call with the same numbers and new names, whose counts are at their greatest or their least. What a
// bound of a hundred says is seen to hold.
func (d *drawer) crowd(round int) (out []Step) {
	d.start()
	d.tame, d.narrow = true, false
	extreme := func(f *function, highest bool) *call {
		c := &call{function: f, subject: "u"}
		d.fill(c)
		c.each(func(p spec.Field, v *value) {
			n := pick(d, []int64{p.Min, p.Max, p.Max})
			if highest {
				n = min(p.Max, 1000)
			}
			if p.Kind == spec.KindCount && n <= 1000 {
				v.text = strconv.FormatInt(n, 10)
			}
		})
		d.obey(c)
		return c
	}
	main := extreme(d.functions[round%len(d.functions)], true)
	pause := pick(d, []int64{0, 1, 1000, d.advance(), int64(math.Exp(d.Float64() * math.Log(40*day)))})
	for n := range crowded {
		s := Step{Advance: max(pause, 0), call: main.clone()}
		if n%8 == 0 || n > crowded-40 {
			s.call = extreme(pick(d, d.functions), false)
		}
		d.now += s.Advance
		if d.IntN(8) > 0 {
			s.call.rename(n, d.now)
		}
		out = append(out, s)
	}
	return out
}

// crowded is how many steps a crowd has.
const crowded = 180

// resume begins a sequence with steps that have been played: what they pass may be passed again, and what they have returned.
func (d *drawer) resume(steps []Step) {
	d.start()
	for _, s := range steps {
		s.call.each(func(f spec.Field, v *value) {
			if v.text != "" {
				d.use(f.Kind, v.text)
			}
		})
		for i, f := range s.call.Results[:min(len(s.call.Results), len(s.results))] {
			d.returned(f, s.results[i])
		}
		d.meet(s.call)
	}
}

// returned notes a result, or the cells of its rows.
func (d *drawer) returned(f spec.Field, v any) {
	switch v := v.(type) {
	case float64:
		if v != 0 && f.Kind != spec.KindFloat {
			d.use(f.Kind, decimal(v))
		}
	case string:
		if v != "" {
			d.use(f.Kind, v)
		}
	case map[any]any:
		for i := range len(v) {
			row, _ := v[float64(i+1)].(map[any]any)
			for _, c := range f.Fields {
				d.returned(c, row[c.Lua])
			}
		}
	}
}

// mutate changes a sequence a little.
func (d *drawer) mutate(steps []Step) []Step {
	d.resume(steps)
	out := slices.Clone(steps)
	for range 1 + d.IntN(3) {
		i := d.IntN(len(out))
		switch r := d.IntN(10); {
		case r < 3 && len(out[i].call.args) > 0:
			out[i].call = d.changed(out[i].call)
		case r < 5 && len(out) < 12:
			out = slices.Insert(out, i+1, Step{Advance: d.advance(), call: d.call()})
		case r < 7 && len(out) < 12:
			out = slices.Insert(out, i+1, Step{Advance: d.advance(), call: out[i].call})
		case r < 9 && i > 0:
			out[i].Advance = d.advance()
		case len(out) > 1:
			out = slices.Delete(out, i, i+1)
		}
	}
	return out
}

// changed is a call with another argument.
func (d *drawer) changed(c *call) *call {
	c = c.clone()
	i := d.IntN(len(c.args))
	c.values[i] = d.value(c.args[i])
	d.obey(c)
	return c
}
