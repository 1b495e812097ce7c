package fcall

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Args builds the keys and arguments of one call, in header order, and collects every argument that is out of bounds.
// Client.Args makes one; Call or Queue ends it. All keys come before the first argument, those of a group's rows too: what
// comes too late is an error of Err. Not safe for concurrent use.
type Args struct {
	client *Client
	fn     *Function
	cmd    []any // FCALL, function, key count, keys, arguments
	keys   int
	about  Subject // whom the last key is about
	tag    string  // of that subject; "" before the first one
	group  string  // the repeated group that is being written
	row    int
	bad    []*ArgumentError
	words  [12]any // what cmd has its place in, unless it is longer
	room   room
}

const cmdHead = 3 // FCALL, function, key count

// Args starts a call of fn; keys and args say how many of each will come, rows of groups included.
func (c *Client) Args(fn *Function, keys, args int) *Args {
	a := &Args{client: c, fn: c.bind(fn)}
	if a.cmd = a.words[:cmdHead]; cmdHead+keys+args > len(a.words) {
		a.cmd = make([]any, cmdHead, cmdHead+keys+args)
	}
	return a
}

// Key adds the key `<namespace>:{<tag of subject>}:<suffix>`. A derived key is the same subject with another suffix. An empty
// subject is out of bounds: everything without a name would share one key.
func (a *Args) Key(name string, subject Subject, suffix string) {
	a.key(name, a.client.namespace+":{"+a.of(name, subject)+"}:"+suffix)
}

// Keys adds the key of each subject, at most most.
func (a *Args) Keys(name string, subjects []Subject, suffix string, most int) {
	if len(subjects) > most {
		a.refuse(name, "be at most "+strconv.Itoa(most)+" subjects", strconv.Itoa(len(subjects)))
		return
	}
	for _, s := range subjects {
		a.Key(name, s, suffix)
	}
}

// RowKey adds the key of one row of a group, `<namespace>:{<tag of subject>}:<suffix>:<value, folded if not plain>`: the
// subject is that of the first key, value the row's text that ends the suffix.
func (a *Args) RowKey(name string, subject Subject, suffix, value string) {
	a.key(name, KeyOf(a.client.namespace, a.of(name, subject), suffix, value))
}

// of is the tag of a subject's keys. Those of a call are mostly of one subject.
func (a *Args) of(name string, subject Subject) string {
	if a.tag == "" || subject != a.about {
		a.about, a.tag = subject, Tag(subject)
		if subject == "" {
			a.wrong(name, "not be empty", "")
		}
	}
	return a.tag
}

func (a *Args) key(name, key string) {
	if len(a.cmd) != cmdHead+a.keys {
		a.refuse(name, "come before every argument, as keys do", "an argument before it")
		return
	}
	a.keys++
	a.cmd = append(a.cmd, key)
}

// Int adds a whole number from least to most.
func (a *Args) Int(name string, v, least, most int64) {
	if v < least || v > most {
		a.refuse(name, mustInt(least, most), strconv.FormatInt(v, 10))
		return
	}
	a.cmd = append(a.cmd, v)
}

// OptInt adds a whole number; 0 means absent. It is for ranges that do not hold 0.
func (a *Args) OptInt(name string, v, least, most int64) {
	if v == 0 {
		a.absent()
		return
	}
	a.Int(name, v, least, most)
}

// OptIntPtr adds a whole number; nil means absent. It is for ranges that hold 0.
func (a *Args) OptIntPtr(name string, v *int64, least, most int64) {
	if v == nil {
		a.absent()
		return
	}
	a.Int(name, *v, least, most)
}

// Micros adds an amount of money from least to most micros.
func (a *Args) Micros(name string, v Micros, least, most int64) { a.Int(name, int64(v), least, most) }

// OptMicros adds an amount; 0 means absent. It is for ranges that do not hold 0.
func (a *Args) OptMicros(name string, v Micros, least, most int64) {
	a.OptInt(name, int64(v), least, most)
}

// OptMicrosPtr adds an amount; nil means absent. It is for ranges that hold 0.
func (a *Args) OptMicrosPtr(name string, v *Micros, least, most int64) {
	a.OptIntPtr(name, (*int64)(v), least, most)
}

// Duration adds a duration, rounded up to a microsecond, of least to most microseconds.
func (a *Args) Duration(name string, d time.Duration, least, most int64) {
	us := ArgDuration(d)
	if us < least || us > most {
		a.refuse(name, mustDuration(least, most), d.String())
		return
	}
	a.cmd = append(a.cmd, us)
}

// OptDuration adds a duration; 0 means absent. It is for ranges that do not hold 0.
func (a *Args) OptDuration(name string, d time.Duration, least, most int64) {
	if d == 0 {
		a.absent()
		return
	}
	a.Duration(name, d, least, most)
}

// OptDurationPtr adds a duration; nil means absent. It is for ranges that hold 0.
func (a *Args) OptDurationPtr(name string, d *time.Duration, least, most int64) {
	if d == nil {
		a.absent()
		return
	}
	a.Duration(name, *d, least, most)
}

// Time adds a time, rounded down to a microsecond, of least to most microseconds since 1970.
func (a *Args) Time(name string, t time.Time, least, most int64) {
	us := ArgTime(t)
	if us < least || us > most {
		a.refuse(name, mustTime(least, most), t.UTC().Format(time.RFC3339Nano))
		return
	}
	a.cmd = append(a.cmd, us)
}

// OptTime adds a time; the zero time.Time means absent.
func (a *Args) OptTime(name string, t time.Time, least, most int64) {
	if t.IsZero() {
		a.absent()
		return
	}
	a.Time(name, t, least, most)
}

// Bool adds a bool; an optional one is false when absent.
func (a *Args) Bool(_ string, v bool) {
	if v {
		a.cmd = append(a.cmd, "1")
		return
	}
	a.cmd = append(a.cmd, "0")
}

// Text adds any bytes, least to most of them.
func (a *Args) Text(name, v string, least, most int64) {
	if n := int64(len(v)); n < least || n > most {
		a.refuse(name, mustText(least, most), strconv.FormatInt(n, 10)+" bytes")
		return
	}
	a.cmd = append(a.cmd, v)
}

// OptText adds any bytes; "" means absent.
func (a *Args) OptText(name, v string, least, most int64) {
	if v == "" {
		a.absent()
		return
	}
	a.Text(name, v, least, most)
}

// Enum adds one of the values.
func (a *Args) Enum(name, v string, values ...string) {
	for _, w := range values {
		if v == w {
			a.cmd = append(a.cmd, v)
			return
		}
	}
	a.refuse(name, mustEnum(values), quote(v))
}

// OptEnum adds one of the values; "" means absent.
func (a *Args) OptEnum(name, v string, values ...string) {
	if v == "" {
		a.absent()
		return
	}
	a.Enum(name, v, values...)
}

// Rows starts a repeated group of n rows. Row says which row follows, EndRows ends the group.
func (a *Args) Rows(name string, n int, least, most int64) {
	if int64(n) < least || int64(n) > most {
		a.refuse(name, mustRows(least, most), strconv.Itoa(n))
	}
	a.cmd = append(a.cmd, int64(n))
	a.group, a.row = name, 0
}

// Row says that the fields of row i follow, counted from 0; messages name them `limits.0.window`.
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

// Call sends the call and returns its reply, or what is wrong with the arguments, before anything is sent.
func (a *Args) Call(ctx context.Context) (*Reply, error) {
	if err := a.Err(); err != nil {
		return nil, err
	}
	return a.client.send(ctx, a.fn, a.command(), &a.room)
}

// Queue adds the call to a pipeline; Pending.Reply has the answer after Exec. With a wrong argument nothing is queued.
func (a *Args) Queue(ctx context.Context, pipe redis.Pipeliner) *Pending {
	if err := a.Err(); err != nil {
		return &Pending{fn: a.fn, err: err}
	}
	return a.client.queue(ctx, pipe, a.fn, a.command(), &a.room)
}

func (a *Args) command() []any {
	a.cmd[2] = a.keys // the first two words are for use
	last := len(a.cmd) - 1
	for omissible := a.fn.Omissible; omissible > 0 && a.cmd[last] == ""; omissible-- {
		last--
	}
	return a.cmd[:last+1]
}

func (a *Args) absent() { a.cmd = append(a.cmd, "") }

// refuse also keeps the argument's place, so that the keys' order check stays true.
func (a *Args) refuse(name, must, got string) {
	a.wrong(name, must, got)
	a.absent()
}

func (a *Args) wrong(name, must, got string) {
	if a.group != "" {
		name = a.group + "." + strconv.Itoa(a.row) + "." + name
	}
	a.bad = append(a.bad, &ArgumentError{Function: a.fn.String(), Name: name, Must: must, Got: got})
}
