package web

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// Routes map requests to the endpoints of one policy. They are safe for concurrent use.
type Routes struct {
	Policy   *policy.Policy
	mux      *http.ServeMux
	folded   *http.ServeMux // in lower case
	exempt   *http.ServeMux // nil if the policy exempts nothing
	patterns map[string]*guard.Endpoint
	mixed    bool // some pattern has a capital letter
	hosts    bool // some pattern has a host
	values   bool // some identity is a wildcard of a pattern
}

// NewRoutes returns the routes of a policy's patterns for HTTP.
func NewRoutes(p *policy.Policy, endpoints []*guard.Endpoint) (*Routes, error) {
	r := &Routes{Policy: p, mux: http.NewServeMux(), folded: http.NewServeMux(), patterns: map[string]*guard.Endpoint{}}
	for _, e := range endpoints {
		for _, pattern := range e.Match {
			pattern = policy.HTTPPattern(pattern)
			exact, folded := policy.Pattern(pattern, false), policy.Pattern(pattern, true)
			if err := cmp.Or(r.handle(r.mux, exact), r.handle(r.folded, folded)); err != nil {
				return nil, fmt.Errorf("endpoint %s: %w", e.Name, err)
			}
			r.patterns[exact], r.patterns[folded], r.mixed = e, e, r.mixed || folded != exact
		}
	}
	if len(p.Exempt) > 0 {
		r.exempt = http.NewServeMux()
	}
	for _, pattern := range p.Exempt {
		if err := r.handle(r.exempt, policy.Pattern(policy.HTTPPattern(pattern), false)); err != nil {
			return nil, fmt.Errorf("exempt: %w", err)
		}
	}
	for _, id := range p.Identities {
		r.values = r.values || id.Path != ""
	}
	return r, nil
}

// Empty reports whether no endpoint has a pattern.
func (r *Routes) Empty() bool { return len(r.patterns) == 0 }

func (r *Routes) handle(mux *http.ServeMux, pattern string) error {
	_, host, _ := policy.SplitPattern(pattern)
	r.hosts = r.hosts || host != ""
	return Handle(mux, pattern)
}

// Handle adds a pattern to a mux. It returns the error that ServeMux panics with for an invalid or duplicate pattern.
func Handle(mux *http.ServeMux, pattern string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	mux.Handle(pattern, http.NotFoundHandler())
	return nil
}

// A Match is the endpoint of a request.
type Match struct {
	Exempt   bool            // guard does not decide the request, whatever it matches
	Endpoint *guard.Endpoint // nil if none matches
	pattern  string          // which matches the path
	path     string          // escaped
}

// An AmbiguousError means that routers may serve a request as different ones. Respond with 400.
type AmbiguousError struct{ What, Why string }

func (e *AmbiguousError) Error() string { return "the " + e.What + " is ambiguous: " + e.Why }

// For returns the match of a request that is for an endpoint, whatever patterns that has.
func (r *Routes) For(e *guard.Endpoint, req *http.Request) Match {
	if r.values {
		if by, err := r.Match(req); err == nil && by.Endpoint == e {
			return by
		}
	}
	return Match{Endpoint: e}
}

// Match returns what a request matches, or an *AmbiguousError. Routers agree about plain requests. They differ in whether a path matches in
// another case and with escapes that it need not have, and whether a method may be in lower case: the request is then of the one endpoint that
// any of them serves. A slash at the end makes no difference, unless a pattern has it.
func (r *Routes) Match(req *http.Request) (m Match, err error) {
	if r.Empty() && r.exempt == nil {
		return m, nil
	}
	clean := r.Policy.Paths == policy.PathsClean
	escaped := cmp.Or(req.URL.EscapedPath(), "/")
	if why := ambiguity(escaped, req.URL, clean, r.Policy.Escapes == policy.EscapesKeep); why != "" {
		return m, &AmbiguousError{"path of the request", why}
	}
	m.path = escaped
	if clean {
		m.path = cleaned(escaped)
	}
	asIs := m.path == req.URL.Path
	m.Exempt = r.exempt != nil && asIs && r.exempts(req)
	folded, method := policy.FoldPath(m.path), strings.ToUpper(req.Method)
	if asIs && !r.mixed && folded == m.path && !hasSlash(m.path) && method == req.Method && (!r.hosts || isPlainHost(req.Host)) {
		_, m.pattern = r.mux.Handler(req)
		if m.Endpoint = r.patterns[m.pattern]; m.Endpoint != nil {
			return m, nil
		}
	}
	probe := *req
	probe.Host = HostOf(req.Host)
	literal := strings.ReplaceAll(m.path, "%", "%25")
	for _, as := range []struct {
		mux  *http.ServeMux
		path string
	}{{r.mux, m.path}, {r.mux, literal}, {r.folded, folded}, {r.folded, policy.FoldPath(literal)}} {
		for _, probe.Method = range slices.Compact([]string{req.Method, method}) {
			pattern := r.find(as.mux, &probe, as.path)
			switch e := r.patterns[pattern]; {
			case e == nil || e == m.Endpoint:
			case m.Endpoint != nil:
				return Match{}, &AmbiguousError{"path of the request", "routers may serve it as two endpoints of the policy"}
			default:
				m.Endpoint, m.pattern = e, pattern
			}
		}
	}
	return m, nil
}

// find returns the pattern that matches a path with or without a slash at its end, or "".
func (r *Routes) find(mux *http.ServeMux, probe *http.Request, path string) string {
	match := func(path string) string {
		decoded, _ := url.PathUnescape(path) // it was a path's
		probe.URL = &url.URL{Path: decoded, RawPath: path}
		if _, pattern := mux.Handler(probe); r.patterns[pattern] != nil {
			return pattern
		}
		return ""
	}
	pattern := match(path)
	if !hasSlash(path) {
		return cmp.Or(pattern, match(path+"/"))
	}
	if pattern != "" {
		if _, _, exact := policy.SplitPattern(pattern); exact == path {
			return pattern
		}
	}
	return cmp.Or(match(strings.TrimRight(path, "/")), pattern)
}

func hasSlash(path string) bool { return len(path) > 1 && path[len(path)-1] == '/' }

// exempts reports whether the policy exempts a request, also without the slash at the end of its path. A pattern for OPTIONS exempts preflights alone: a handler may serve any other
// OPTIONS request as it serves a GET.
func (r *Routes) exempts(req *http.Request) bool {
	if r.hosts && !isPlainHost(req.Host) {
		probe := *req
		probe.Host = HostOf(req.Host)
		req = &probe
	}
	handler, pattern := r.exempt.Handler(req)
	if strings.HasPrefix(pattern, http.MethodOptions+" ") && (req.Header["Origin"] == nil || req.Header["Access-Control-Request-Method"] == nil) {
		return false
	}
	// ServeMux redirects /a to the pattern /a/, and another router does not.
	if _, registered := handler.(http.HandlerFunc); pattern == "" || !registered || !hasSlash(req.URL.Path) {
		return pattern != "" && registered
	}
	without, u := *req, *req.URL
	without.URL, u.Path = &u, strings.TrimRight(u.Path, "/")
	return r.exempts(&without)
}

// HostOf returns a host in lower case without port and final dot, as in patterns.
func HostOf(host string) string {
	if name, port, err := net.SplitHostPort(host); err == nil && port != "" {
		host = name
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	return strings.ToLower(host)
}

// isPlainHost reports whether HostOf changes only the port, which ServeMux ignores.
func isPlainHost(host string) bool {
	for i := range len(host) {
		if c := host[i]; 'A' <= c && c <= 'Z' || c == '[' || c == '.' && (i == len(host)-1 || host[i+1] == ':') {
			return false
		}
	}
	return true
}

// Identify reads the identities of a request, also those that are a part of its path.
func (r *Routes) Identify(reader *identity.Reader, req *http.Request, m Match) (identity.Found, error) {
	switch {
	case !r.values:
		return reader.Read(req, nil)
	case m.pattern == "":
		return reader.Read(req, req.PathValue) // of the router before the guard
	}
	return reader.Read(req, func(name string) string { return Segment(m.pattern, m.path, name) })
}

// Segment returns the part of a path that a wildcard of the pattern matches.
func Segment(pattern, path, name string) string {
	_, _, pattern = policy.SplitPattern(pattern)
	for {
		var one, value string
		var more, left bool
		one, pattern, more = strings.Cut(strings.TrimPrefix(pattern, "/"), "/")
		rest := strings.TrimPrefix(path, "/")
		value, path, left = strings.Cut(rest, "/")
		switch one {
		case "{" + name + "}":
			return decoded(value)
		case "{" + name + "...}":
			return decoded(rest)
		}
		if !more || !left {
			return ""
		}
	}
}

func decoded(text string) string {
	if d, err := url.PathUnescape(text); err == nil {
		return d
	}
	return text
}
