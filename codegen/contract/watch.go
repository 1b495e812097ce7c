package contract

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/embedded"
)

// The most that a call may do.
const (
	maxSteps    = 1_000_000
	maxCommands = 20_000
)

// A fault is what is wrong with a call, and where.
type fault struct {
	rule string
	line int // of the bundle; 0: the function's
	text string
}

// A watch is the Observer of a server. It notes what one call does, and which of its commands, operators and texts are wrong.
type watch struct {
	libs map[string]*Library // by their names on the server

	// of all sequences
	blocks  map[string][]embedded.Block
	reached map[string][]int // 1: a call has run the block; 2: also without content that another program had put there
	answers map[[2]int]bool  // lines of commands, and how many elements their replies had, up to 3
	fresh   bool             // the running sequence has done what none had before, or not cleanly
	endless map[string]bool  // functions that have been stopped once
	fills   map[string]bool  // the suffixes of keys to which functions add
	random  bool             // a command whose replies may differ has run
	lacking []Unchecked      // commands that the engine does not have
	lack    []string         // functions that have run one

	// of the running sequence
	foreign bool            // content has been put under its keys
	garbage bool            // of a kind that the library could not have written
	passed  map[string]bool // what callers have passed
	names   map[any]bool    // the texts among that

	ran
}

// What the running call does.
type ran struct {
	lib     *Library
	fn      *function
	running bool
	blind   bool // it has run a command that the engine does not have, so the rest of it says nothing
	reply   any  // as the server sends it
	// what of its answer may differ between servers, as Step has it
	unordered, ids bool
	values         []any // what the function has returned; nil: the generated checks have refused the call
	commands       int
	clocks         int
	cost           int
	line           int              // of the last command
	heaviest       [2]int           // the greatest cost of a command, and its line
	begun          int              // cost before the last command
	written        map[string]write // the last write of each key
	touched        map[[2]string]bool
	remade         map[string]bool      // keys that have been removed as a whole: what is in them is the call's own
	twice          []string             // keys that the call names twice
	stored         map[[2]string]string // what it has stored in their elements, and not read since
	reads          map[string]int       // of these keys
	reread         bool                 // one of them was made twice
	removed        bool                 // a command has removed what it names
	excused        bool                 // the author says of a command that its key is small
	risky          []risk
	last           command
	faults         []fault
}

// A risk is a text that must not be stored or returned.
type risk struct {
	line             int
	text, rule, what string
}

// A write is a command that writes a key.
type write struct {
	line    int
	name    string
	expires bool // it sets an expiry that may be over
	existed bool // the key was there before it
}

// A command is one that runs.
type command struct {
	name      string
	args      []string
	protected bool
	trims     bool
}

func newWatch(libs []*Library) *watch {
	w := &watch{
		libs: map[string]*Library{}, blocks: map[string][]embedded.Block{}, reached: map[string][]int{}, answers: map[[2]int]bool{},
		endless: map[string]bool{}, fills: map[string]bool{}, passed: map[string]bool{}, names: map[any]bool{},
	}
	for _, l := range libs {
		w.libs[l.Spec.Server] = l
	}
	return w
}

// begin forgets the call before.
func (w *watch) begin() {
	w.ran = ran{written: map[string]write{}, touched: map[[2]string]bool{}, remade: map[string]bool{}, stored: map[[2]string]string{}, reads: map[string]int{}}
}

// pass notes what a call passes.
func (w *watch) pass(c *call, args []string) {
	for _, a := range args {
		w.passed[a] = true
	}
	c.each(func(f spec.Field, v *value) {
		w.passed[v.text] = true
		if f.Kind == spec.KindText {
			w.names[v.text] = true
		}
	})
}

func (w *watch) add(rule string, line int, format string, args ...any) {
	for _, f := range w.faults {
		if f.rule == rule {
			return
		}
	}
	w.faults = append(w.faults, fault{rule, line, fmt.Sprintf(format, args...)})
}

// causes are the faults of a call without those that only follow from another: a command that fails raises an error, as a wrong pattern does,
// and what was written before it stays. A call that ran a command which the engine lacks has none.
func (w *watch) causes() []fault {
	if w.blind {
		return nil
	}
	has := func(rules ...string) bool {
		return slices.ContainsFunc(w.faults, func(f fault) bool { return slices.Contains(rules, f.rule) })
	}
	ended := has("failed-command", "undeclared-key", "no-writes", "endless-loop")
	raises, raised := ended || has("caller-text"), ended || has("raised")
	return slices.DeleteFunc(w.faults, func(f fault) bool {
		return raises && f.rule == "raised" || raised && (f.rule == "refusal-writes" || f.rule == "missing-ttl")
	})
}

// Loaded notes the blocks of a library.
func (w *watch) Loaded(library string, blocks []embedded.Block) {
	w.blocks[library], w.reached[library] = blocks, make([]int, len(blocks))
}

// Called begins a call.
func (w *watch) Called(library, name string, keys, _ []string) (most int) {
	for i, key := range keys {
		if slices.Contains(keys[:i], key) {
			w.twice = append(w.twice, key)
		}
	}
	w.lib = w.libs[library]
	w.running = w.lib != nil
	if !w.running {
		return 0
	}
	if i := slices.IndexFunc(w.lib.functions, func(f *function) bool { return f.Server == name }); i >= 0 {
		w.fn = w.lib.functions[i]
	}
	if w.fn != nil && w.endless[name] {
		return maxSteps / 50
	}
	return maxSteps
}

// Block notes that a block has run.
func (w *watch) Block(i int) {
	if !w.running {
		return
	}
	reached, how := w.reached[w.lib.Spec.Server], 2
	if w.foreign {
		how = 1
	}
	w.fresh = w.fresh || how > reached[i]
	reached[i] = max(reached[i], how)
}

// Operator takes doubtful operands of the author's code.
func (w *watch) Operator(line int, problem, text string, operands ...any) {
	if problem == "caller-text" {
		signs, spelled := "%", operands[0].(string)
		if strings.HasSuffix(text, "pattern") {
			signs = "%[.*?"
		}
		if w.running && w.spells(spelled, signs) && w.authors(line) {
			w.add(problem, line, "%s, and a caller has passed it: %s means something else there, so escape it, or pass true as the fourth argument of string.find", text, word(spelled))
		}
		return
	}
	if len(operands) > 0 && !slices.ContainsFunc(operands, func(o any) bool { return !w.names[o] }) {
		return // two names that look like numbers
	}
	if w.running && !(problem == "mixed-comparison" && (w.garbage || w.foreign && strings.Contains(text, "NaN"))) && w.authors(line) {
		w.add(problem, line, "%s", text)
	}
}

// spells reports whether a text has one of spellings with such signs, as a caller has passed it: escaped, it would not be there.
func (w *watch) spells(text, signs string) bool {
	return slices.ContainsFunc(spellings, func(s string) bool { return w.names[s] && strings.ContainsAny(s, signs) && strings.Contains(text, s) })
}

func (w *watch) authors(line int) bool {
	_, ok := w.lib.authors[line]
	return ok
}

// Text takes a text that is not its number any more.
func (w *watch) Text(line int, text, problem, what string) {
	if w.running && len(w.risky) < 50 && len(text) > 1 && w.authors(line) {
		w.risky = append(w.risky, risk{line, text, problem, what})
	}
}

// exponent is how a number looks that tostring has cut.
var exponent = regexp.MustCompile(`^-?(\d+(\.\d+)?[eE][+-]?\d+|nan|inf|0)$`)

// Command checks a command and what it is given.
func (w *watch) Command(line int, args []any, keys []string, sizes []int, writes, protected bool) {
	if !w.running {
		return
	}
	words := make([]string, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case float64:
			words[i] = strconv.FormatFloat(a, 'f', -1, 64)
		case string:
			words[i] = a
		}
	}
	name := strings.ToUpper(words[0])
	w.last = command{name: name, args: words, protected: protected, trims: slices.Contains(trims, name)}
	w.line = line
	if w.commands++; w.commands == maxCommands {
		w.add("endless-loop", line, "runs more than %d commands", maxCommands)
	}
	if name == "TIME" {
		if w.clocks++; w.clocks == 2 {
			w.add("clock-twice", line, "reads the clock again: on Redis 7.0 it moves within a call")
		}
	}
	w.random = w.random || slices.Contains(drawn, name)
	w.unordered = w.unordered || slices.Contains(unordered, name)
	w.ids = w.ids || name == "XADD" && slices.Contains(words, "*")
	scored := strings.HasPrefix(name, "Z") || strings.HasSuffix(name, "BYFLOAT")
	if !w.garbage {
		for i, a := range args[1:] {
			w.argument(line, name, i+1, a, scored)
		}
	}
	if slices.Contains(w.lib.ignored[w.lib.authors[line]], "key-loop") {
		w.excused = true
	}
	if i := slices.Index(words, "MATCH"); i > 0 && i+1 < len(words) && strings.HasSuffix(name, "SCAN") && w.spells(words[i+1], "[*?") {
		w.add("caller-text", line, "%s reads a text of the caller as a glob: with %s it finds others; escape * ? [ ] and \\ in it", name, word(words[i+1]))
	}
	w.begun = w.cost
	w.work(name, words, sizes)
	if len(keys) > 0 && slices.Contains(w.twice, keys[0]) {
		w.stale(line, name, words, writes)
	}
	if writes {
		for i, k := range keys {
			w.written[k] = write{line, name, expires(name, words), sizes[i] > 0}
			if name == "DEL" || name == "UNLINK" {
				w.remade[k] = true
			}
		}
		if len(keys) > 0 {
			for _, element := range elementsOf(name, words) {
				w.touched[[2]string{keys[0], element}] = true
			}
		}
		w.removed = w.removed || slices.Contains(removes, name)
	}
}

// stale finds that a call which names a key twice overwrites what it has just stored there: it has read both before, and took them for two.
func (w *watch) stale(line int, name string, words []string, writes bool) {
	key := words[1]
	if !writes {
		maps.DeleteFunc(w.stored, func(at [2]string, _ string) bool { return at[0] == key })
		w.reads[strings.Join(words, " ")]++
		w.reread = w.reread || w.reads[strings.Join(words, " ")] > 1
		return
	}
	pairs := words[2:]
	switch name {
	case "SET":
		pairs = []string{"", words[2]}
	case "HSET", "HMSET":
	default:
		return
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		at := [2]string{key, pairs[i]}
		if before, ok := w.stored[at]; ok && before != pairs[i+1] && w.reread {
			w.add("stale-write", line, "overwrites the %s that it has just stored in %s with %s: two subjects of the call are the same, so read again or refuse them", word(before), key, word(pairs[i+1]))
		}
		w.stored[at] = pairs[i+1]
	}
}

// argument checks one argument of a command.
func (w *watch) argument(line int, name string, i int, a any, scored bool) {
	switch a := a.(type) {
	case float64:
		switch {
		case math.IsNaN(a), math.IsInf(a, 0) && !scored:
			w.add("number", line, "%s gets %v as argument %d", name, a, i)
		case a == 0 && math.Signbit(a):
			w.add("number", line, "%s gets -0 as argument %d, which some servers write as -0", name, i)
		case (a > 1<<53 || a <= -1<<53) && !math.IsInf(a, 0):
			w.add("number", line, "%s gets %s as argument %d: above 2^53 numbers have gaps", name, decimal(a), i)
		case a != math.Trunc(a) && !scored:
			w.add("number", line, "%s gets %v as argument %d: servers write fractions differently, so round it", name, a, i)
		}
	case string:
		if w.passed[a] {
			return
		}
		for _, r := range w.risky {
			if strings.Contains(a, r.text) {
				w.add(r.rule, r.line, "%s gets %s, as argument %d", name, r.what, i)
			}
		}
		if len(a) > 1 && len(a) < 30 && exponent.MatchString(a) && !w.foreign && !(scored && strings.HasSuffix(a, "inf")) {
			w.add("number-text", line, "%s gets the text %s as argument %d: pass the number, or format it with '%%.0f'", name, a, i)
		}
	}
}

func decimal(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// Replied checks the reply of a command.
func (w *watch) Replied(elements int, failure string) {
	if !w.running {
		return
	}
	if answer := [2]int{w.line, min(elements, 3)}; !w.foreign && !w.answers[answer] {
		w.answers[answer], w.fresh = true, true
	}
	if failure == "" {
		if !w.last.trims {
			w.cost += max(elements-1, 0)
		}
		if is := w.cost - w.begun; is > w.heaviest[0] {
			w.heaviest = [2]int{is, w.line}
		}
		return
	}
	shown := brief(w.last.args)
	_, absent, lacks := strings.Cut(failure, "the embedded engine has no '")
	switch {
	case lacks:
		w.blind = true
		absent, _, _ = strings.Cut(absent, "'")
		at := w.lib.authors[w.line]
		if !slices.Contains(w.lack, w.fn.name) {
			w.lack = append(w.lack, w.fn.name)
		}
		if u := (Unchecked{at, strings.ToUpper(absent)}); !slices.Contains(w.lacking, u) {
			w.lacking = append(w.lacking, u)
		}
	case strings.HasPrefix(failure, "RLUNDECLARED"):
		w.add("undeclared-key", w.line, "%s uses a key that is not among the keys of the header: %s", w.last.name, strings.TrimPrefix(failure, "RLUNDECLARED "))
	case strings.Contains(failure, "read-only script"):
		w.add("no-writes", w.line, "%s writes, and the header has no-writes", shown)
	case strings.HasPrefix(failure, "ERR Wrong number"), strings.HasPrefix(failure, "ERR wrong number"), strings.HasPrefix(failure, "ERR unknown"),
		strings.Contains(failure, "not allowed"), strings.Contains(failure, "syntax error"), strings.Contains(failure, "invalid expire"):
		w.add("failed-command", w.line, "%s: %s", shown, failure)
	case !w.foreign && !w.last.protected && !strings.HasPrefix(failure, "BUSYGROUP"):
		w.add("failed-command", w.line, "%s: %s", shown, failure)
	}
}

// Returned notes what the author's function has returned.
func (w *watch) Returned(values []any) {
	if w.running {
		w.values = values
	}
}

// Ended ends the call.
func (w *watch) Ended(steps int) {
	if !w.running {
		return
	}
	w.running = false
	w.cost += steps/50 + w.commands
	if steps > maxSteps && w.fn != nil {
		w.endless[w.fn.Server] = true
	}
	if w.fn != nil && w.endless[w.fn.Server] && steps > maxSteps/50 {
		w.values = nil
		w.add("endless-loop", w.line, "does not end: stopped after %d instructions and %d commands", steps-1, w.commands)
	}
}

// brief is a command as a message shows it.
func brief(args []string) string {
	out := make([]string, 0, 8)
	for i, a := range args {
		if i == 8 {
			out = append(out, "...")
			break
		}
		out = append(out, word(a))
	}
	return strings.Join(out, " ")
}

// word is a text as a message shows it.
func word(s string) string {
	shown := s[:min(len(s), 60)]
	if q := strconv.Quote(shown); s == "" || q != `"`+shown+`"` || strings.ContainsAny(s, " %") {
		shown = q
	}
	if len(s) > 60 {
		shown += fmt.Sprintf("... (%d bytes)", len(s))
	}
	return shown
}
