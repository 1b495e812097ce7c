package replay

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/guard/internal/web"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/guard/replay/accesslog"
)

// A batch is a block of a log, ready to decide, with the counts of its lines.
type batch struct {
	jobs                                         []job
	bytes, lines, unmatched, disordered, limited int64
	bad                                          []accesslog.Bad
	subsecond                                    bool // a time has a fraction of a second
	unanswered                                   bool // a line has no status
}

// A preparer turns lines into jobs, in one goroutine.
type preparer struct {
	policy  *policy.Policy
	routes  *routes
	clients *clients
	late    time.Duration
	clock   time.Time // never runs backwards
	latest  int64     // line that set the clock
}

func (p *preparer) prepare(b *accesslog.Block) *batch {
	out := &batch{jobs: make([]job, 0, len(b.Lines)), bytes: b.Bytes, lines: int64(len(b.Lines) + len(b.Bad)), bad: b.Bad}
	for i := range b.Lines {
		p.line(&b.Lines[i], out)
	}
	return out
}

func (p *preparer) line(l *accesslog.Line, out *batch) {
	bad := func(why string) { out.bad = append(out.bad, accesslog.Bad{Number: l.Number, Why: why}) }
	out.subsecond = out.subsecond || l.Time.Nanosecond() != 0
	if l.Time.Before(p.clock) {
		if behind := p.clock.Sub(l.Time); behind > p.late {
			bad(fmt.Sprintf("is %s earlier than line %d: the log is not in order", behind, p.latest))
			return
		}
		out.disordered++
	} else {
		p.clock, p.latest = l.Time, l.Number
	}
	found := p.routes.of(l.Method, l.Path)
	if found.endpoint < 0 && found.err == nil {
		out.unmatched++
		return
	}
	c, err := (*client)(nil), found.err
	if err == nil {
		c, err = p.clients.of(l)
	}
	if err != nil {
		bad(err.Error())
		return
	}
	if l.Status == http.StatusTooManyRequests {
		out.limited++
	}
	out.unanswered = out.unanswered || l.Status == 0
	e := &p.policy.Endpoints[found.endpoint]
	call := web.Call{Operation: l.Method, Path: l.Path}
	if e.Idempotency != nil && l.ID != "" {
		call.Header = http.Header{http.CanonicalHeaderKey(e.Idempotency.Header): {l.ID}}
	}
	out.jobs = append(out.jobs, job{
		number: l.Number, at: p.clock, endpoint: found.endpoint, client: c, status: l.Status,
		request: call.Request(p.policy, e, found.others, &c.found),
	})
}

// routes find endpoints as the middleware does.
type routes struct {
	*web.Routes
	places map[*policy.Endpoint]int // in the policy
	fixed  int                      // endpoint of all lines, or -1
}

// routed is the endpoint of a line.
type routed struct {
	endpoint int      // -1 if none matches
	others   []string // that a router may also mean: guard holds the request to all of them
	err      error    // guard answers 400
}

// newRoutes returns the routes of a policy's patterns, or of one endpoint for all requests.
func newRoutes(p *policy.Policy, endpoint string) (*routes, error) {
	r := &routes{fixed: -1, places: map[*policy.Endpoint]int{}}
	for i := range p.Endpoints {
		if r.places[&p.Endpoints[i]] = i; p.Endpoints[i].Name == endpoint {
			r.fixed = i
			return r, nil
		}
	}
	if endpoint != "" {
		return nil, fmt.Errorf("the policy has no endpoint %q%s", endpoint, endpointsOf(p))
	}
	var err error
	if r.Routes, err = web.NewRoutes(p); err != nil {
		return nil, err
	}
	if r.Empty() {
		return nil, fmt.Errorf("no endpoint of the policy has a match: name the endpoint of the log%s", endpointsOf(p))
	}
	return r, nil
}

func endpointsOf(p *policy.Policy) string {
	names := make([]string, len(p.Endpoints))
	for i := range names {
		names[i] = p.Endpoints[i].Name
	}
	if len(names) == 0 {
		return " (it has none)"
	}
	return " (endpoints: " + strings.Join(names, ", ") + ")"
}

// of returns the endpoint of a request.
func (r *routes) of(method, path string) routed {
	if r.fixed >= 0 {
		return routed{endpoint: r.fixed}
	}
	path, _, _ = strings.Cut(path, "?")
	found := routed{endpoint: -1}
	if u, err := url.ParseRequestURI(path); err == nil {
		m, err := r.Match(&http.Request{Method: method, URL: u, Host: u.Host})
		if m.Endpoint != nil {
			found.endpoint = r.places[m.Endpoint]
		}
		found.others, found.err = m.Others, err
	}
	return found
}
