package contract

import (
	"encoding/hex"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/embedded"
)

// A Strict checks the calls that somebody else makes, as Run checks its own. It is the Observer of an embedded server.
type Strict struct {
	*watch
	server   *server
	promises promises
	latest   int64
	calls    []*call // since Before
	earlier  []fault // of those before the last
}

// NewStrict returns an Observer that checks calls of these libraries. Server must follow.
func NewStrict(libs []*Library) *Strict { return &Strict{watch: newWatch(libs), promises: promises{}} }

// Server names the server that it observes, and its clock.
func (s *Strict) Server(observed *embedded.Server, clock *embedded.ManualClock) {
	s.server = newServer(observed, clock)
}

// Called notes a call and what it passes.
func (s *Strict) Called(library, name string, keys, args []string) (most int) {
	s.earlier = append(s.earlier, s.causes()...)
	s.watch.begin()
	most = s.watch.Called(library, name, keys, args)
	if s.fn == nil {
		return most
	}
	c := &call{function: s.fn, values: parse(s.fn, args)}
	s.pass(c, args)
	s.calls = append(s.calls, c)
	return most
}

// Before reads what the server holds. Prepared says that somebody else than the libraries has written.
func (s *Strict) Before(prepared bool) {
	s.foreign = s.foreign || prepared
	s.calls, s.earlier, s.faults = nil, nil, nil
	s.server.now = s.clock()
	clear(s.server.held)
	s.server.look(s.server.keys())
}

func (s *Strict) clock() int64 { return s.server.clock.Now().UnixMicro() }

// After checks the call since Before, and returns what is wrong with it. Where there were several calls only their results are checked.
func (s *Strict) After() (found []Finding) {
	if len(s.calls) == 0 {
		return nil
	}
	op := s.calls[len(s.calls)-1]
	now := s.clock()
	back := now < s.latest
	s.latest = max(s.latest, now)
	if s.values != nil && !s.blind {
		if a := s.results(); len(s.calls) == 1 {
			s.keys(op, a, s.changes(s.server), s.promises, back, now)
		}
	}
	for _, f := range append(s.earlier, s.causes()...) {
		if f := finding(op, f.rule, f.line, f.text); !op.lib.silenced(f) {
			found = append(found, f)
		}
	}
	return found
}

// parse reads the arguments of a call as they travel. What cannot be read is absent: the generated checks refuse it.
func parse(f *function, args []string) []value {
	next := func() string {
		if len(args) == 0 {
			return ""
		}
		text := args[0]
		args = args[1:]
		return text
	}
	values := make([]value, len(f.args))
	for i, p := range f.args {
		text := next()
		switch {
		case p.Kind == spec.KindGroup:
			values[i] = unpack(p, text)
		default:
			values[i] = value{text: text, absent: text == ""}
		}
	}
	return values
}

// unpack undoes pack.
func unpack(p spec.Field, text string) (v value) {
	width := len(cells(p))
	for line := range strings.SplitSeq(strings.TrimSuffix(text, ";"), ";") {
		if line == "" {
			continue
		}
		r := row{cells: slices.Repeat([]value{{absent: true}}, width)}
		for j, cell := range strings.Split(line, ",") {
			if j == width {
				break
			}
			r.cells[j] = value{text: unescape(cell), absent: cell == ""}
		}
		v.rows = append(v.rows, r)
	}
	return v
}

func unescape(cell string) string {
	var b strings.Builder
	for i := 0; i < len(cell); i++ {
		if cell[i] == '%' && i+2 < len(cell) {
			if c, err := hex.DecodeString(cell[i+1 : i+3]); err == nil {
				b.Write(c)
				i += 2
				continue
			}
		}
		b.WriteByte(cell[i])
	}
	return b.String()
}
