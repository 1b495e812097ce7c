package contract

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/internal/luasrc"
	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/embedded"
)

// DefaultCalls is how often each function is called at least, and DefaultMost how many calls are made in all while lines are not reached: a
// second or two for most libraries.
const (
	DefaultCalls = 500
	DefaultMost  = 6000
)

// Seed is that of RLFUNC_SEED, and 0 without one.
func Seed() (uint64, error) {
	text := os.Getenv("RLFUNC_SEED")
	if text == "" {
		return 0, nil
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("RLFUNC_SEED must be a whole number from 0 to 18446744073709551615, got %q", text)
	}
	return seed, nil
}

// Options configures Run. The zero value is useful.
type Options struct {
	// Seed draws the calls: the same seed draws the same ones. Defaults to 0.
	Seed uint64
	// Calls is how many to make at least, for each function. Defaults to DefaultCalls.
	Calls int
	// Most is up to how many calls of the library to go on, as long as there are lines that none has reached. It is a number and no time, so
	// that a seed finds the same on every machine. Defaults to DefaultMost.
	Most int
	// Quick leaves out calls on keys with many elements, which take half of the time. Defaults to false.
	Quick bool
	// Unshrunk leaves sequences as they were drawn. Defaults to false.
	Unshrunk bool
}

// A Finding is one fault of a function, and the calls that show it.
type Finding struct {
	Rule     string
	Function string // "ratelimit.gcra"
	File     string
	Line     int
	Text     string
	Steps    []Step
}

// String has the form of a finding of vet, without the steps.
func (f Finding) String() string {
	return fmt.Sprintf("%s:%d:1: %s: %s (%s)", f.File, f.Line, f.Function, f.Text, f.Rule)
}

// A Place is a line of an author's file.
type Place struct {
	File string `json:"file"`
	Line int    `json:"line"`
}

// An Unchecked is a line whose command the embedded engine does not have. Calls that run it are not judged.
type Unchecked struct {
	Place
	Command string `json:"command"`
}

// String says what to do instead.
func (u Unchecked) String() string {
	return fmt.Sprintf("%s:%d: not checked here, because the embedded engine has no %s: give --redis or RLFUNC_TEST_REDIS_URL", u.File, u.Line, u.Command)
}

// A Report is what a run has found.
type Report struct {
	Seed      uint64
	Calls     int
	Refused   int       // calls that the generated checks refused: the headers do not say why
	Findings  []Finding // by file and line
	Unchecked []Unchecked
	Unreached []Place  // blocks of the authors' files that no call has run
	Reached   []Place  // the others
	Sequences [][]Step // some that reach all that was reached, to be played on other servers

	libs []*Library
	lack []string // functions that have run a command which the engine does not have
}

// Summary says how much was called, and what never ran.
func (r *Report) Summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d calls drawn from seed %d, of which the generated checks refused %d.", r.Calls, r.Seed, r.Refused)
	for _, u := range r.Unchecked {
		fmt.Fprintf(&b, "\n    %v", u)
	}
	if len(r.Unreached) > 0 {
		fmt.Fprintf(&b, " No call reached what begins at these lines, so nothing is known of it:")
		for _, p := range r.Unreached {
			fmt.Fprintf(&b, "\n    %s:%d", p.File, p.Line)
		}
	}
	return b.String()
}

// A checker plays sequences on an embedded server.
type checker struct {
	*drawer
	watch  *watch
	server *server
	libs   []*Library

	found     []Finding
	sequences [][]Step
	known     map[[2]string]bool // rules of functions that have been found
	latest    int64
	promises  promises
	refused   int
	calls     int
}

// Run calls the functions of libraries that share keys, in random sequences, and checks what they do. The error is one of loading.
func Run(libs []*Library, o Options) (*Report, error) {
	o.Calls, o.Most = cmp.Or(o.Calls, DefaultCalls), cmp.Or(o.Most, DefaultMost)
	w := newWatch(libs)
	clock := embedded.NewManualClock(Start)
	inside := embedded.New(embedded.Options{Clock: clock, Observer: w})
	defer inside.Close()
	c := &checker{watch: w, server: newServer(inside, clock), libs: libs, drawer: newDrawer(o.Seed, libs, w.fills), known: map[[2]string]bool{}}
	if len(c.functions) == 0 {
		return nil, errors.New("there are no functions to call")
	}
	for _, l := range libs {
		if err, failed := c.server.do("FUNCTION", "LOAD", l.Code).(error); failed {
			return nil, fmt.Errorf("load %s on the embedded engine: %w", l.Spec.Server, err)
		}
	}
	c.explore(o.Calls*len(c.functions), o)
	if !o.Quick {
		c.growth()
	}
	r := &Report{libs: libs, lack: w.lack, Seed: o.Seed, Calls: c.calls, Refused: c.refused, Sequences: c.sequences, Findings: c.found, Unchecked: w.lacking}
	r.Reached, r.Unreached = c.lines()
	slices.SortFunc(r.Unchecked, func(a, b Unchecked) int { return cmp.Compare(a.String(), b.String()) })
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return strings.Compare(a.String(), b.String()) })
	return r, nil
}

// explore plays random sequences, and changed copies of those that have reached something new.
func (c *checker) explore(calls int, o Options) {
	var kept [][]Step
	left := true // there are lines to reach
	for n := 0; c.calls < calls || left && c.calls < o.Most; n++ {
		var steps []Step
		foreign := c.calls > calls/8
		r := c.IntN(12)
		if c.calls < calls { // what is near is found by new sequences, what is far by longer ones
			r = c.IntN(24)
		}
		switch {
		case len(kept) > 0 && r < 3:
			steps = c.further(pick(c.drawer, kept))
		case len(kept) > 0 && r < 10:
			steps = c.mutate(pick(c.drawer, kept))
		default:
			steps = c.sequence(foreign && n%2 == 0)
		}
		if steps == nil {
			continue
		}
		c.watch.fresh = false
		p := c.try(steps, o)
		if c.watch.fresh {
			_, unreached := c.lines()
			left = len(unreached) > 0
			kept = append(kept, steps)
			if !c.watch.random && !c.watch.blind {
				c.sequences = append(c.sequences, steps[:len(p.replies)])
			}
		}
		if len(p.found) > 0 {
			continue
		}
		if p.lost >= 0 {
			c.harmful(steps, p.lost)
		}
		if n%4 == 0 && !slices.ContainsFunc(steps, func(s Step) bool { return s.Advance < 0 }) {
			c.again(steps, p.replies)
		}
	}
	for round := range max(2*len(c.functions), c.calls/(5*crowded)) {
		c.try(c.crowd(round), o)
	}
}

// try plays a sequence and keeps what it finds.
func (c *checker) try(steps []Step, o Options) played {
	p := c.play(steps)
	c.calls += len(p.replies)
	for _, s := range steps[:len(p.replies)] {
		if _, failed := s.reply.(error); s.wrote && !failed {
			c.learn(s.call)
		}
	}
	for _, f := range p.found {
		f.Steps = slices.Clone(steps[:len(p.replies)])
		if !c.scales(f) {
			continue
		}
		if !o.Unshrunk {
			f = c.shrink(f)
		}
		c.keep(f)
	}
	return p
}

// scales reports whether a finding about spans is there when each argument that is one is longer, and each count of some size less, by a share
// of its own. Else two spans only happen to be equal, or a thousand times each other, or counts made one of the other.
func (c *checker) scales(f Finding) bool {
	if f.Rule != "unit" && f.Rule != "bad-ttl" && f.Rule != "shortened-ttl" {
		return true
	}
	steps := slices.Clone(f.Steps)
	for i := range steps {
		steps[i].call = steps[i].call.clone()
		share := int64(3)
		steps[i].call.each(func(f spec.Field, v *value) {
			n, err := strconv.ParseInt(v.text, 10, 64)
			switch share++; {
			case err != nil, f.Kind != spec.KindDuration && (f.Kind != spec.KindCount || n < 100):
				return
			case f.Kind == spec.KindCount:
				n = max(n-n*share/20, f.Min)
			case n+n*share/10 <= f.Max:
				n += n * share / 10
			default:
				n = max(n/2, f.Min)
			}
			v.text = strconv.FormatInt(n, 10)
		})
	}
	return slices.ContainsFunc(c.play(steps).found, func(again Finding) bool { return again.Rule == f.Rule && again.Function == f.Function })
}

// keep adds a finding, unless its line says why it is none.
func (c *checker) keep(f Finding) {
	id := [2]string{f.Function, f.Rule}
	if c.known[id] {
		return
	}
	c.known[id] = true
	if slices.ContainsFunc(c.libs, func(l *Library) bool { return l.silenced(f) }) {
		return
	}
	c.found = append(c.found, f)
}

// ofCalls are rules about a whole call: a line of a lib file, such as that which sets every expiry, says little about them.
var ofCalls = []string{"refusal-writes", "missing-ttl", "shortened-ttl", "unit", "bad-ttl"}

// finding makes one of the function of a call.
func finding(op *call, rule string, line int, text string) Finding {
	f := Finding{Rule: rule, Function: op.name, File: op.path, Line: op.Line, Text: text}
	at, ok := op.lib.authors[line]
	if own := slices.ContainsFunc(op.lib.Files, func(f *luasrc.File) bool { return f.Path == at.File }); ok && line > 0 && (own || !slices.Contains(ofCalls, rule)) {
		f.File, f.Line = at.File, at.Line
	}
	return f
}

// A played is what a sequence did.
type played struct {
	replies []any
	found   []Finding
	lost    int // the first call that failed or was refused, and removed something; -1: none
}

// play plays a sequence on an empty server, up to its first finding that is not known.
func (c *checker) play(steps []Step) played {
	c.server.reset()
	c.promises = promises{}
	c.latest = 0
	w := c.watch
	w.foreign, w.garbage, w.random = false, false, false
	clear(w.passed)
	clear(w.names)
	p := played{lost: -1}
	for i := range steps {
		s := &steps[i]
		c.server.advance(s.Advance)
		if len(s.Foreign) > 0 {
			c.put(s)
		}
		found, lost := c.step(s)
		s.reply, s.results = w.reply, nil
		if len(w.values) > 0 && w.values[0] == true {
			s.results = w.values[1:]
		}
		p.replies = append(p.replies, w.reply)
		if w.blind { // nobody knows what the keys would hold now
			return p
		}
		if lost != "" && p.lost < 0 && !w.garbage {
			p.lost = i
		}
		if p.found = found; len(found) > 0 {
			return p
		}
	}
	return p
}

// put has another program write.
func (c *checker) put(s *Step) {
	keys := map[string]bool{}
	for _, words := range s.Foreign {
		c.server.do(words...)
		keys[words[1]] = true
		for _, word := range words[2:] {
			c.watch.passed[word] = true
		}
	}
	c.server.look(keys)
	c.watch.foreign = true
	c.watch.garbage = c.watch.garbage || s.garbage
}

// step makes a call and checks it.
func (c *checker) step(s *Step) (found []Finding, lost string) {
	w, op := c.watch, s.call
	back := c.server.now < c.latest
	c.latest = max(c.latest, c.server.now)
	words := op.words()
	w.pass(op, words[3:])
	w.begin()
	w.reply = c.server.do(words...)
	if c.server.clock == nil {
		w.answered(op, w.reply)
		back = true // what is left of its keys says nothing
		for key := range c.server.keys() {
			w.written[key] = write{}
		}
		for key := range c.server.held {
			w.written[key] = write{}
		}
	}
	if w.blind {
		return nil, ""
	}
	if w.values != nil {
		a := w.results()
		changes := w.changes(c.server)
		s.Unordered, s.IDs = w.unordered, w.ids || slices.ContainsFunc(s.Foreign, func(words []string) bool { return words[0] == "XADD" })
		s.wrote = slices.ContainsFunc(changes, func(ch change) bool { return ch.changed() || ch.before.expires != ch.after.expires })
		lost = w.keys(op, a, changes, c.promises, back, c.server.now)
	} else if len(w.faults) == 0 {
		c.refused++
	}
	for _, f := range w.causes() {
		if !c.known[[2]string{op.name, f.rule}] {
			found = append(found, finding(op, f.rule, f.line, f.text))
		}
	}
	return found, lost
}

// again checks that the same calls have the same replies.
func (c *checker) again(steps []Step, first []any) {
	second := c.play(steps).replies
	if c.watch.random {
		return
	}
	for i := range min(len(first), len(second)) {
		if !reflect.DeepEqual(first[i], second[i]) {
			f := finding(steps[i].call, "unstable", 0, fmt.Sprintf("the same calls on the same keys answer %s the second time, and %s the first", brief([]string{fmt.Sprint(second[i])}), brief([]string{fmt.Sprint(first[i])})))
			f.Steps = slices.Clone(steps[:i+1])
			c.keep(f)
			return
		}
	}
}

// harmful checks whether a later call can tell that a refused one has removed something.
func (c *checker) harmful(steps []Step, at int) {
	op := steps[at].call
	if c.known[[2]string{op.name, "refusal-writes"}] {
		return
	}
	for range 6 {
		probe := Step{call: op}
		if c.IntN(2) == 0 {
			probe.call = c.call()
			probe.call.subject = op.subject
		}
		last := steps[at]
		last.call = probe.call
		without := c.play(append(slices.Clone(steps[:at]), last))
		with := c.play(append(slices.Clone(steps[:at+1]), probe))
		if c.watch.random || len(without.replies) != at+1 || len(with.replies) != at+2 || reflect.DeepEqual(without.replies[at], with.replies[at+1]) {
			continue
		}
		f := finding(op, "refusal-writes", c.watch.line, fmt.Sprintf("removes something in a call that fails or is refused: after it %s answers %s, and without it %s",
			probe.call.Name, brief([]string{fmt.Sprint(with.replies[at+1])}), brief([]string{fmt.Sprint(without.replies[at])})))
		f.File, f.Line = op.path, op.Line
		f.Steps = append(slices.Clone(steps[:at+1]), probe)
		c.keep(f)
		return
	}
}

// lines lists where the blocks of the authors' files begin, by whether a call has run them. Those of lib functions that no call has entered
// are in neither list.
func (c *checker) lines() (run, not []Place) {
	for _, l := range c.libs {
		blocks, reached := c.watch.blocks[l.Spec.Server], c.watch.reached[l.Spec.Server]
		for i, b := range blocks {
			at, ok := l.authors[b.Line]
			own := slices.ContainsFunc(l.Files, func(f *luasrc.File) bool { return f.Path == at.File })
			switch {
			case !ok:
			case reached[i] > 0 || b.Loaded:
				run = append(run, at)
			case own || reached[b.Function] > 0:
				not = append(not, at)
			}
		}
	}
	for _, list := range []*[]Place{&run, &not} {
		slices.SortFunc(*list, func(a, b Place) int { return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line) })
		*list = slices.Compact(*list)
	}
	return run, not
}
