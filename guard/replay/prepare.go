package replay

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/internal/web"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// A batch is a block of a log, ready to decide, with the counts of its lines.
type batch struct {
	jobs                                          []job
	lines, exempt, unmatched, disordered, limited int64
	bad                                           []Bad
	subsecond                                     bool // a time has a fraction of a second
	unanswered                                    bool // a line has no status
	options                                       bool // a line may be a preflight
}

// A preparer turns lines into jobs, in one goroutine.
type preparer struct {
	policy  *policy.Policy
	routes  *routes
	clients *clients
	late    time.Duration
	clock   time.Time // never runs backwards
	latest  int64     // line that set the clock

	preflights bool // the policy exempts some
}

func (p *preparer) prepare(b *block) *batch {
	out := &batch{jobs: make([]job, 0, len(b.lines)), lines: int64(len(b.lines) + len(b.bad)), bad: b.bad}
	for i := range b.lines {
		p.line(&b.lines[i], out)
	}
	return out
}

func (p *preparer) line(l *line, out *batch) {
	bad := func(why string) { out.bad = append(out.bad, Bad{Number: l.number, Why: why}) }
	out.subsecond = out.subsecond || l.at.Nanosecond() != 0
	if l.at.Before(p.clock) {
		if behind := p.clock.Sub(l.at); behind > p.late {
			bad(fmt.Sprintf("is %s earlier than line %d: the log is not in order", behind, p.latest))
			return
		}
		out.disordered++
	} else {
		p.clock, p.latest = l.at, l.number
	}
	found, err := p.routes.of(l.method, l.path)
	if found.Exempt {
		out.exempt++
		return
	}
	if found.Endpoint == nil && err == nil {
		out.unmatched++
		return
	}
	var c *client
	if err == nil {
		c, err = p.clients.of(l)
	}
	if err != nil {
		bad(err.Error())
		return
	}
	if l.status == http.StatusTooManyRequests {
		out.limited++
	}
	out.unanswered = out.unanswered || l.status == 0
	out.options = out.options || l.method == http.MethodOptions && p.preflights
	e := found.Endpoint
	call := web.Call{Operation: l.method}
	if e.Idempotency != nil && l.id != "" {
		call.Header = http.Header{http.CanonicalHeaderKey(e.Idempotency.Header): {l.id}}
	}
	out.jobs = append(out.jobs, job{
		number: l.number, at: p.clock, client: c, status: l.status,
		request: call.Request(e, &c.found),
	})
}

func isPreflight(pattern string) bool { return strings.HasPrefix(pattern, http.MethodOptions+" ") }

// routes find endpoints as the middleware does.
type routes struct {
	*web.Routes
	fixed *guard.Endpoint // of all lines; nil finds it
}

// newRoutes returns the routes of a policy's patterns, or of one endpoint for all requests.
func newRoutes(p *policy.Policy, endpoint string) (*routes, error) {
	if endpoint != "" {
		e, ok := p.Endpoint(endpoint)
		if !ok {
			return nil, fmt.Errorf("the policy has no endpoint %q%s", endpoint, endpointsOf(p))
		}
		return &routes{fixed: &guard.Endpoint{Endpoint: e}}, nil
	}
	var endpoints []*guard.Endpoint
	for i := range p.Endpoints {
		endpoints = append(endpoints, &guard.Endpoint{Endpoint: &p.Endpoints[i]})
	}
	found, err := web.NewRoutes(p, endpoints)
	if err != nil {
		return nil, err
	}
	if found.Empty() {
		return nil, fmt.Errorf("no endpoint of the policy has a match: name the endpoint of the log%s", endpointsOf(p))
	}
	return &routes{Routes: found}, nil
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

// of returns what a request matches. The error is that of a path for which guard answers 400.
func (r *routes) of(method, path string) (web.Match, error) {
	if r.fixed != nil {
		return web.Match{Endpoint: r.fixed}, nil
	}
	path, _, _ = strings.Cut(path, "?")
	u, err := url.ParseRequestURI(path)
	if err != nil {
		return web.Match{}, nil
	}
	return r.Match(&http.Request{Method: method, URL: u, Host: u.Host})
}
