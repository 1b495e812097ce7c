package contract

import (
	"net/url"
	"strings"

	"github.com/rlfunc/rlfunc/embedded"
)

// A Strict checks the calls that somebody else makes: what they return, and what they leave. It is the Observer of an embedded server.
type Strict struct {
	*watch
	server  *server
	calls   []*call // since Before
	earlier []fault // of those before the last
}

// NewStrict returns an Observer that checks calls of these libraries. Server must follow.
func NewStrict(libs []*Library) *Strict { return &Strict{watch: newWatch(libs)} }

// Server names the server that it observes, and its clock.
func (s *Strict) Server(observed *embedded.Server, clock *embedded.ManualClock) {
	s.server = newServer(observed, clock)
}

// Called notes a call and what it passes.
func (s *Strict) Called(library, name string, keys, args []string) (most int) {
	s.earlier = append(s.earlier, s.causes()...)
	s.begin()
	most = s.watch.Called(library, name, keys, args)
	if s.fn == nil {
		return most
	}
	s.calls = append(s.calls, &call{function: s.fn, values: make([]value, len(s.fn.args))})
	for _, arg := range args {
		s.passed[arg] = true
		for _, cell := range strings.FieldsFunc(arg, func(c rune) bool { return c == ',' || c == ';' }) { // of rows
			if text, err := url.PathUnescape(cell); err == nil {
				s.passed[text] = true
			}
		}
	}
	return most
}

// Before reads what the server holds. Prepared says that somebody else than the libraries has written.
func (s *Strict) Before(prepared bool) {
	s.foreign = s.foreign || prepared
	s.calls, s.earlier, s.faults = nil, nil, nil
	clear(s.server.held)
	s.server.look(s.server.keys())
}

// After checks the call since Before, and returns what is wrong with it. Where there were several calls only their results are checked. How
// long keys should live is not: the arguments are not read.
func (s *Strict) After() (found []Finding) {
	if len(s.calls) == 0 {
		return nil
	}
	op := s.calls[len(s.calls)-1]
	if s.values != nil && !s.blind {
		if a := s.results(); len(s.calls) == 1 {
			s.keys(op, a, s.changes(s.server), promises{}, true, 0)
		}
	}
	for _, f := range append(s.earlier, s.causes()...) {
		if f := finding(op, f.rule, f.line, f.text); !op.lib.silenced(f) {
			found = append(found, f)
		}
	}
	return found
}
