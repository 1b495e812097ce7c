package fcall

import (
	"context"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Args collects the keys and arguments of one call, in header order: all keys first, including those of a group's rows. The server checks
// arguments, and its RLARG names the one that is wrong. Client.Args starts a call; Call or Queue ends it. Args is not safe for concurrent use.
type Args struct {
	client  *Client
	fn      *Function
	cmd     []any    // FCALL, function, key count, keys, arguments
	keys    *keyText // until the call is made
	omitted int      // arguments that no later one follows
	about   Subject  // of the last key
	unnamed bool     // some subject is empty
	words   [12]any  // cmd's array, unless cmd is longer
	buffers callBuffers
}

// A keyText collects the keys of a call, which become one string: one allocation.
type keyText struct {
	text []byte
	ends []int  // of each key
	tag  [2]int // where text has the tag of the last key
}

var keyTexts = sync.Pool{New: func() any { return new(keyText) }}

const cmdHead = 3 // FCALL, function, key count

// Args starts a call of fn. keys and args are their expected numbers.
func (c *Client) Args(fn *Function, keys, args int) *Args {
	a := &Args{client: c, fn: fn, keys: keyTexts.Get().(*keyText)}
	a.keys.text, a.keys.ends = a.keys.text[:0], a.keys.ends[:0]
	if a.cmd = a.words[:cmdHead]; cmdHead+keys > len(a.words) { // most calls of a function with many arguments omit most of them
		a.cmd = make([]any, cmdHead, cmdHead+keys+args)
	}
	return a
}

// Key adds the key `<namespace>:{<tag of subject>}:<suffix>`. A call with an empty subject is refused, because all unnamed subjects would
// share one key.
func (a *Args) Key(subject Subject, suffix string) {
	a.begin(subject)
	a.end("}:", suffix)
}

// Keys adds the key of each subject.
func (a *Args) Keys(subjects []Subject, suffix string) {
	for _, s := range subjects {
		a.Key(s, suffix)
	}
}

// KeyOf adds a key that ends in an argument, `<namespace>:{<tag of subject>}:<suffix>:<value>`. value is hashed unless it is plain; without
// one, the key ends in the suffix.
func (a *Args) KeyOf(subject Subject, suffix, value string) {
	a.Key(subject, ended(suffix, value))
}

// GroupKeys adds the keys of a group's rows, row by row. A row without a subject of its own has the call's.
func (a *Args) GroupKeys(g Group, subject Subject) {
	rows := g.Len()
	if rows == 0 {
		return
	}
	each := len(g.packed.suffixes) / rows
	for i := range rows {
		of := subject
		if i < len(g.of) && g.of[i] != "" {
			of = g.of[i]
		}
		for _, suffix := range g.packed.suffixes[i*each : (i+1)*each] {
			a.begin(of)
			a.end(suffix, "")
		}
	}
}

// begin begins a key with its namespace and the tag of a subject, which most calls have one of.
func (a *Args) begin(subject Subject) {
	k := a.keys
	k.text = append(append(k.text, a.client.namespace...), ":{"...)
	from := len(k.text)
	if subject == a.about && len(k.ends) > 0 {
		k.text = append(k.text, k.text[k.tag[0]:k.tag[1]]...)
	} else {
		k.text = appendTag(k.text, subject)
		a.about, a.unnamed = subject, a.unnamed || subject == ""
	}
	k.tag = [2]int{from, len(k.text)}
}

// end ends a key. command fills in its word.
func (a *Args) end(brace, suffix string) {
	k := a.keys
	k.text = append(append(k.text, brace...), suffix...)
	k.ends = append(k.ends, len(k.text))
	a.cmd = append(a.cmd, nil)
}

// Int adds a whole number, or the millionths of an amount.
func (a *Args) Int(v int64) { a.add(v) }

// OptInt adds a whole number; 0 omits it.
func (a *Args) OptInt(v int64) {
	if !a.omits(v == 0) {
		a.Int(v)
	}
}

// OptIntPtr adds a whole number; nil omits it.
func (a *Args) OptIntPtr(v *int64) {
	if !a.omits(v == nil) {
		a.Int(*v)
	}
}

// Float adds a number, as the shortest text that reads back as the same float64. -0 is sent as 0.
func (a *Args) Float(v float64) { a.add(strconv.FormatFloat(v+0, 'g', -1, 64)) }

// OptFloat adds a number; 0 omits it.
func (a *Args) OptFloat(v float64) {
	if !a.omits(v == 0) {
		a.Float(v)
	}
}

// OptFloatPtr adds a number; nil omits it.
func (a *Args) OptFloatPtr(v *float64) {
	if !a.omits(v == nil) {
		a.Float(*v)
	}
}

// Duration adds a duration, rounded up to a microsecond.
func (a *Args) Duration(d time.Duration) { a.add(ArgDuration(d)) }

// OptDuration adds a duration; 0 omits it.
func (a *Args) OptDuration(d time.Duration) {
	if !a.omits(d == 0) {
		a.Duration(d)
	}
}

// OptDurationPtr adds a duration; nil omits it.
func (a *Args) OptDurationPtr(d *time.Duration) {
	if !a.omits(d == nil) {
		a.Duration(*d)
	}
}

// Time adds a time, rounded down to a microsecond.
func (a *Args) Time(t time.Time) { a.add(ArgTime(t)) }

// OptTime adds a time; the zero time.Time omits it.
func (a *Args) OptTime(t time.Time) {
	if !a.omits(t.IsZero()) {
		a.Time(t)
	}
}

// Bool adds a bool.
func (a *Args) Bool(v bool) {
	if v {
		a.add("1")
		return
	}
	a.add("0")
}

// OptBool adds a bool; false omits it.
func (a *Args) OptBool(v bool) {
	if !a.omits(!v) {
		a.Bool(v)
	}
}

// OptBoolPtr adds a bool; nil omits it. It is for bools that are true by default.
func (a *Args) OptBoolPtr(v *bool) {
	if !a.omits(v == nil) {
		a.Bool(*v)
	}
}

// Text adds any bytes, or the word of an enum.
func (a *Args) Text(v string) { a.add(v) }

// OptText adds any bytes; "" omits them.
func (a *Args) OptText(v string) {
	if !a.omits(v == "") {
		a.Text(v)
	}
}

// Group adds the rows of a group; none omit it.
func (a *Args) Group(g Group) {
	if !a.omits(g.packed == nil) {
		a.add(g.packed.text)
	}
}

// Call sends the call and returns its reply.
func (a *Args) Call(ctx context.Context) (*Reply, error) {
	if a.unnamed {
		return nil, a.nobody()
	}
	return a.client.send(ctx, a.fn, a.command(), &a.buffers)
}

// Queue adds the call to a pipeline; Pending.Reply returns its reply after Exec.
func (a *Args) Queue(ctx context.Context, pipe redis.Pipeliner) *Pending {
	if a.unnamed {
		return &Pending{fn: a.fn, err: a.nobody()}
	}
	return a.client.queue(ctx, pipe, a.fn, a.command(), &a.buffers)
}

// nobody is the one argument error that a client finds by itself: the tag of a key does not show that the subject is empty.
func (a *Args) nobody() error {
	return &ArgumentError{Function: a.fn.String(), Name: "subject", Must: "not be empty"}
}

func (a *Args) command() []any {
	a.cmd[2] = len(a.keys.ends) // callBuffers.command fills the first two words
	keys, start := string(a.keys.text), 0
	for i, end := range a.keys.ends {
		a.cmd[cmdHead+i], start = keys[start:end], end
	}
	keyTexts.Put(a.keys)
	a.keys = nil
	for ; a.omitted > a.fn.Omissible; a.omitted-- {
		a.cmd = append(a.cmd, "")
	}
	return a.cmd
}

// add adds an argument, and those that were omitted before it.
func (a *Args) add(v any) {
	for ; a.omitted > 0; a.omitted-- {
		a.cmd = append(a.cmd, "")
	}
	a.cmd = append(a.cmd, v)
}

// omits omits an argument that is absent.
func (a *Args) omits(absent bool) bool {
	if absent {
		a.omitted++
	}
	return absent
}

// ArgDuration returns a duration in microseconds, rounded up: a wait that is cut short would be refused again.
func ArgDuration(d time.Duration) int64 {
	us := int64(d / time.Microsecond)
	if d%time.Microsecond > 0 {
		us++
	}
	return us
}

// ArgTime returns a time in microseconds since 1970, rounded down and clamped to an int64.
func ArgTime(t time.Time) int64 {
	switch s := t.Unix(); {
	case s > math.MaxInt64/1_000_000-1:
		return math.MaxInt64
	case s < math.MinInt64/1_000_000+1:
		return math.MinInt64
	}
	return t.UnixMicro()
}

// MaxInt is the largest integer in calls and replies, 2^53: a Lua number holds every integer up to it exactly.
const MaxInt = 1 << 53

// Micros are millionths of any currency.
type Micros int64

// String returns the amount with six decimals, "1.250000".
func (m Micros) String() string {
	u := uint64(m)
	sign := ""
	if m < 0 {
		sign, u = "-", -u
	}
	frac := strconv.FormatUint(1_000_000+u%1_000_000, 10)
	return sign + strconv.FormatUint(u/1_000_000, 10) + "." + frac[1:]
}
