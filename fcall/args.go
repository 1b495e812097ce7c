package fcall

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Args collects the keys and arguments of one call, in header order, and every argument that is out of bounds. Client.Args
// starts a call; Call or Queue ends it. All keys come before the first argument, including those of a group's rows; a later key
// is an error of Err. Args is not safe for concurrent use.
type Args struct {
	client  *Client
	fn      *Function
	cmd     []any // FCALL, function, key count, keys, arguments
	keys    int
	about   Subject // of the last key
	tag     string  // of that subject; "" before the first key
	group   string  // the repeated group that is being written
	row     int
	bad     []*ArgumentError
	words   [12]any // cmd's array, unless cmd is longer
	buffers callBuffers
}

const cmdHead = 3 // FCALL, function, key count

// Args starts a call of fn. keys and args are their expected numbers, including those of groups' rows.
func (c *Client) Args(fn *Function, keys, args int) *Args {
	a := &Args{client: c, fn: c.bind(fn)}
	if a.cmd = a.words[:cmdHead]; cmdHead+keys+args > len(a.words) {
		a.cmd = make([]any, cmdHead, cmdHead+keys+args)
	}
	return a
}

// Key adds the key `<namespace>:{<tag of subject>}:<suffix>`. A derived key has the same subject and another suffix. An empty
// subject is out of bounds, because all unnamed subjects would share one key.
func (a *Args) Key(name string, subject Subject, suffix string) {
	a.key(name, a.client.namespace+":{"+a.tagOf(name, subject)+"}:"+suffix)
}

// Keys adds the key of each subject, at most maximum.
func (a *Args) Keys(name string, subjects []Subject, suffix string, maximum int) {
	if len(subjects) > maximum {
		a.reject(name, "be at most "+strconv.Itoa(maximum)+" subjects", strconv.Itoa(len(subjects)))
		return
	}
	for _, s := range subjects {
		a.Key(name, s, suffix)
	}
}

// RowKey adds a key that ends in an argument or in a field of a group's row, `<namespace>:{<tag of subject>}:<suffix>:<value>`. subject is that
// of the first key. value is hashed unless it is plain; without one, the key ends in the suffix.
func (a *Args) RowKey(name string, subject Subject, suffix, value string) {
	a.key(name, KeyOf(a.client.namespace, a.tagOf(name, subject), suffix, value))
}

// tagOf returns the tag of a subject's keys. Most calls have one subject.
func (a *Args) tagOf(name string, subject Subject) string {
	if a.tag == "" || subject != a.about {
		a.about, a.tag = subject, Tag(subject)
		if subject == "" {
			a.addError(name, "not be empty", "")
		}
	}
	return a.tag
}

func (a *Args) key(name, key string) {
	if len(a.cmd) != cmdHead+a.keys {
		a.reject(name, "come before every argument, as keys do", "an argument before it")
		return
	}
	a.keys++
	a.cmd = append(a.cmd, key)
}

// Int adds a whole number from minimum to maximum.
func (a *Args) Int(name string, v, minimum, maximum int64) {
	if v < minimum || v > maximum {
		a.reject(name, mustInt(minimum, maximum), strconv.FormatInt(v, 10))
		return
	}
	a.cmd = append(a.cmd, v)
}

// OptInt adds a whole number; 0 means omitted. It is for ranges without 0.
func (a *Args) OptInt(name string, v, minimum, maximum int64) {
	if v == 0 {
		a.omit()
		return
	}
	a.Int(name, v, minimum, maximum)
}

// OptIntPtr adds a whole number; nil means omitted. It is for ranges with 0.
func (a *Args) OptIntPtr(name string, v *int64, minimum, maximum int64) {
	if v == nil {
		a.omit()
		return
	}
	a.Int(name, *v, minimum, maximum)
}

// Duration adds a duration, rounded up to a microsecond, of minimum to maximum microseconds.
func (a *Args) Duration(name string, d time.Duration, minimum, maximum int64) {
	us := ArgDuration(d)
	if us < minimum || us > maximum {
		a.reject(name, mustDuration(minimum, maximum), d.String())
		return
	}
	a.cmd = append(a.cmd, us)
}

// OptDuration adds a duration; 0 means omitted. It is for ranges without 0.
func (a *Args) OptDuration(name string, d time.Duration, minimum, maximum int64) {
	if d == 0 {
		a.omit()
		return
	}
	a.Duration(name, d, minimum, maximum)
}

// OptDurationPtr adds a duration; nil means omitted. It is for ranges with 0.
func (a *Args) OptDurationPtr(name string, d *time.Duration, minimum, maximum int64) {
	if d == nil {
		a.omit()
		return
	}
	a.Duration(name, *d, minimum, maximum)
}

// Time adds a time, rounded down to a microsecond, of minimum to maximum microseconds since 1970.
func (a *Args) Time(name string, t time.Time, minimum, maximum int64) {
	us := ArgTime(t)
	if us < minimum || us > maximum {
		a.reject(name, mustTime(minimum, maximum), t.UTC().Format(time.RFC3339Nano))
		return
	}
	a.cmd = append(a.cmd, us)
}

// OptTime adds a time; the zero time.Time means omitted.
func (a *Args) OptTime(name string, t time.Time, minimum, maximum int64) {
	if t.IsZero() {
		a.omit()
		return
	}
	a.Time(name, t, minimum, maximum)
}

// Bool adds a bool. An omitted one is false.
func (a *Args) Bool(_ string, v bool) {
	if v {
		a.cmd = append(a.cmd, "1")
		return
	}
	a.cmd = append(a.cmd, "0")
}

// OptBoolPtr adds a bool; nil means omitted. It is for bools that are true by default.
func (a *Args) OptBoolPtr(name string, v *bool) {
	if v == nil {
		a.omit()
		return
	}
	a.Bool(name, *v)
}

// Text adds any bytes, minimum to maximum of them.
func (a *Args) Text(name, v string, minimum, maximum int64) {
	if n := int64(len(v)); n < minimum || n > maximum {
		a.reject(name, mustText(minimum, maximum), strconv.FormatInt(n, 10)+" bytes")
		return
	}
	a.cmd = append(a.cmd, v)
}

// OptText adds any bytes; "" means omitted.
func (a *Args) OptText(name, v string, minimum, maximum int64) {
	if v == "" {
		a.omit()
		return
	}
	a.Text(name, v, minimum, maximum)
}

// Enum adds one of the values.
func (a *Args) Enum(name, v string, values ...string) {
	for _, w := range values {
		if v == w {
			a.cmd = append(a.cmd, v)
			return
		}
	}
	a.reject(name, mustEnum(values), quote(v))
}

// OptEnum adds one of the values; "" means omitted.
func (a *Args) OptEnum(name, v string, values ...string) {
	if v == "" {
		a.omit()
		return
	}
	a.Enum(name, v, values...)
}

// Rows starts a repeated group of n rows, or a list of n items. Row starts each row, and EndRows ends the group. Items have no name.
func (a *Args) Rows(name string, n int, minimum, maximum int64) {
	if int64(n) < minimum || int64(n) > maximum {
		a.reject(name, mustRows(minimum, maximum), strconv.Itoa(n))
	}
	a.cmd = append(a.cmd, int64(n))
	a.group, a.row = name, 0
}

// Row starts row i, counted from 0. Messages name its fields `limits.0.window`.
func (a *Args) Row(i int) { a.row = i }

// EndRows ends a repeated group.
func (a *Args) EndRows() { a.group = "" }

// Err returns nil, an *ArgumentError, or ArgumentErrors with every argument that is out of bounds.
func (a *Args) Err() error {
	switch len(a.bad) {
	case 0:
		return nil
	case 1:
		return a.bad[0]
	}
	return ArgumentErrors(a.bad)
}

// Call sends the call and returns its reply. With invalid arguments it returns Err and sends nothing.
func (a *Args) Call(ctx context.Context) (*Reply, error) {
	if err := a.Err(); err != nil {
		return nil, err
	}
	return a.client.send(ctx, a.fn, a.command(), &a.buffers)
}

// Queue adds the call to a pipeline; Pending.Reply returns its reply after Exec. With invalid arguments it queues nothing.
func (a *Args) Queue(ctx context.Context, pipe redis.Pipeliner) *Pending {
	if err := a.Err(); err != nil {
		return &Pending{fn: a.fn, err: err}
	}
	return a.client.queue(ctx, pipe, a.fn, a.command(), &a.buffers)
}

func (a *Args) command() []any {
	a.cmd[2] = a.keys // setVerb fills the first two words
	last := len(a.cmd) - 1
	for omissible := a.fn.Omissible; omissible > 0 && a.cmd[last] == ""; omissible-- {
		last--
	}
	return a.cmd[:last+1]
}

func (a *Args) omit() { a.cmd = append(a.cmd, "") }

// reject also fills the argument's position, so that the check of the keys' order stays correct.
func (a *Args) reject(name, must, got string) {
	a.addError(name, must, got)
	a.omit()
}

// inRow returns the name of a row's field, `limits.0.window`, or of a list's item, `names.0`.
func inRow(group string, row int, field string) string {
	name := group + "." + strconv.Itoa(row)
	if field == "" {
		return name
	}
	return name + "." + field
}

func (a *Args) addError(name, must, got string) {
	if a.group != "" {
		name = inRow(a.group, a.row, name)
	}
	a.bad = append(a.bad, &ArgumentError{Function: a.fn.String(), Name: name, Must: must, Got: got})
}

// Must rejects a call, or a row of a pack, that breaks a rule of the header: what name says must be otherwise.
func (a *Args) Must(name, must string) { a.addError(name, must, "") }

// MustRow rejects a row of a group that breaks a rule of the header.
func (a *Args) MustRow(group string, row int, name, must string) {
	a.group, a.row = group, row
	a.addError(name, must, "")
	a.group = ""
}

// Differ rejects a call of whose rows two are alike.
func (a *Args) Differ(name, must string, rows int, alike func(i, j int) bool) {
	for i := range rows {
		for j := range i {
			if alike(i, j) {
				a.addError(name, must, "")
				return
			}
		}
	}
}

// Or returns what a pointer leads to, or the default if it is nil.
func Or[T any](v *T, absent T) T {
	if v == nil {
		return absent
	}
	return *v
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

// Float adds a number from minimum to maximum, as the shortest text that reads back as the same float64. -0 is sent as 0. NaN and
// infinities are out of bounds.
func (a *Args) Float(name string, v float64, minimum, maximum int64) {
	below, above := minimum != NoMin && v < float64(minimum), maximum != NoMax && v > float64(maximum)
	if below || above || v-v != 0 {
		a.reject(name, mustFloat(minimum, maximum), floatText(v))
		return
	}
	a.cmd = append(a.cmd, floatText(v+0))
}

// OptFloat adds a number; 0 means omitted. It is for ranges without 0.
func (a *Args) OptFloat(name string, v float64, minimum, maximum int64) {
	if v == 0 {
		a.omit()
		return
	}
	a.Float(name, v, minimum, maximum)
}

// OptFloatPtr adds a number; nil means omitted. It is for ranges with 0.
func (a *Args) OptFloatPtr(name string, v *float64, minimum, maximum int64) {
	if v == nil {
		a.omit()
		return
	}
	a.Float(name, *v, minimum, maximum)
}

func floatText(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// JSON adds a value as encoding/json writes it, minimum to maximum bytes. A json.RawMessage must be JSON, and is sent unchanged.
func (a *Args) JSON(name string, v any, minimum, maximum int64) {
	raw, encoded := v.(json.RawMessage)
	if !encoded {
		var err error
		if raw, err = json.Marshal(v); err != nil {
			a.reject(name, "be a value that encoding/json writes", quote(err.Error()))
			return
		}
	} else if !json.Valid(raw) {
		a.reject(name, "be JSON", describe(string(raw)))
		return
	}
	a.Text(name, string(raw), minimum, maximum)
}

// OptJSON adds JSON; an empty message means omitted.
func (a *Args) OptJSON(name string, raw json.RawMessage, minimum, maximum int64) {
	if len(raw) == 0 {
		a.omit()
		return
	}
	a.JSON(name, raw, minimum, maximum)
}

// Texts that follow "must" in an error.

func mustInt(minimum, maximum int64) string {
	return fmt.Sprintf("be a whole number from %d to %d", minimum, maximum)
}

func mustFloat(minimum, maximum int64) string {
	switch {
	case minimum == NoMin && maximum == NoMax:
		return "be a finite number"
	case minimum == NoMin:
		return fmt.Sprintf("be a number at most %d", maximum)
	case maximum == NoMax:
		return fmt.Sprintf("be a number at least %d", minimum)
	}
	return fmt.Sprintf("be a number from %d to %d", minimum, maximum)
}

func mustDuration(minimum, maximum int64) string {
	return fmt.Sprintf("be a duration from %s to %s", microsText(minimum), microsText(maximum))
}

func mustTime(minimum, maximum int64) string {
	return fmt.Sprintf("be a time from %s to %s", timeText(minimum), timeText(maximum))
}

func mustText(minimum, maximum int64) string {
	return fmt.Sprintf("be text of %d to %d bytes", minimum, maximum)
}

func mustRows(minimum, maximum int64) string {
	return fmt.Sprintf("have %d to %d rows", minimum, maximum)
}

func mustEnum(values []string) string { return "be one of " + strings.Join(values, ", ") }

// microsText formats a duration, or the number of microseconds if a time.Duration would overflow.
func microsText(us int64) string {
	if d, ok := duration(us); ok {
		return d.String()
	}
	return strconv.FormatInt(us, 10) + "µs"
}

func timeText(us int64) string { return time.UnixMicro(us).UTC().Format(time.RFC3339Nano) }

// duration reports false if us microseconds overflow a time.Duration.
func duration(us int64) (time.Duration, bool) {
	d := time.Duration(us) * time.Microsecond
	return d, int64(d/time.Microsecond) == us
}

// quote quotes at most 32 bytes of a caller's value, on one line.
func quote(s string) string {
	const maximum = 32
	if len(s) <= maximum {
		return strconv.QuoteToASCII(s)
	}
	return strconv.QuoteToASCII(s[:maximum]) + fmt.Sprintf("... (%d bytes)", len(s))
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

// NoMin and NoMax are the bounds of a float that has none.
const (
	NoMin = math.MinInt64
	NoMax = math.MaxInt64
)
