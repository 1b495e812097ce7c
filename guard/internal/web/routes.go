package web

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// Routes map requests to the endpoints of one policy. They are safe for concurrent use.
type Routes struct {
	Policy    *policy.Policy
	mux       *http.ServeMux
	exempt    *http.ServeMux // nil if the policy exempts nothing
	patterns  map[string]*policy.Endpoint
	hosts     bool     // some pattern has a host
	wildcards []string // identities that are a wildcard of a pattern
}

// NewRoutes returns the routes of a policy's patterns for HTTP.
func NewRoutes(p *policy.Policy) (*Routes, error) {
	r := &Routes{Policy: p, mux: http.NewServeMux(), patterns: map[string]*policy.Endpoint{}}
	for i := range p.Endpoints {
		e := &p.Endpoints[i]
		for _, pattern := range e.Match {
			if isGRPC(pattern) {
				continue
			}
			pattern = folded(pattern, p.Paths.Case == policy.CaseFold)
			if err := r.handle(r.mux, pattern); err != nil {
				return nil, fmt.Errorf("endpoint %s: %w", e.Name, err)
			}
			r.patterns[pattern] = e
		}
	}
	if len(p.Exempt) > 0 {
		r.exempt = http.NewServeMux()
	}
	for _, pattern := range p.Exempt {
		if isGRPC(pattern) {
			continue
		}
		if err := r.handle(r.exempt, folded(pattern, false)); err != nil {
			return nil, fmt.Errorf("exempt: %w", err)
		}
	}
	for name, id := range p.Identities {
		if id.Path != "" {
			r.wildcards = append(r.wildcards, name)
		}
	}
	slices.Sort(r.wildcards)
	return r, nil
}

// Empty reports whether no endpoint has a pattern.
func (r *Routes) Empty() bool { return len(r.patterns) == 0 }

// isGRPC reports whether a pattern matches all methods of a gRPC service.
func isGRPC(pattern string) bool {
	return strings.HasPrefix(pattern, "/") && strings.HasSuffix(pattern, "/*")
}

func (r *Routes) handle(mux *http.ServeMux, pattern string) error {
	_, host, _ := policy.SplitPattern(pattern)
	r.hosts = r.hosts || host != ""
	return handle(mux, pattern)
}

// handle adds a pattern to a mux. It returns the error that ServeMux panics with for an invalid or duplicate pattern.
func handle(mux *http.ServeMux, pattern string) (err error) {
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
	Exempt   bool             // guard does not decide the request, whatever it matches
	Endpoint *policy.Endpoint // nil if none matches
	Others   []string         // further endpoints that it matches if a router reads it differently
	read     []reading        // as which it matches the endpoint
}

// A reading is an escaped path, and the pattern that matches it.
type reading struct{ pattern, path string }

var errLongPath = errors.New("the path is too long to be read in all the ways in which routers may read it")

// For returns the match of a request that is for an endpoint, whatever patterns that has.
func (r *Routes) For(e *policy.Endpoint, req *http.Request) Match {
	if len(r.wildcards) > 0 {
		if by, err := r.Match(req); err == nil && by.Endpoint == e {
			return Match{Endpoint: e, read: by.read}
		}
	}
	return Match{Endpoint: e}
}

// Match returns what a request matches. Limits of all endpoints apply, so no spelling avoids a limit. A method is read as it is and in
// upper case, as Flask and PHP do. A request is exempt if it is in each reading, without folding its case. None is with an escape or a semicolon,
// which services read in more ways: Java's take /static/..;/v1/chat for /v1/chat.
func (r *Routes) Match(req *http.Request) (m Match, err error) {
	if r.Empty() && r.exempt == nil {
		return m, nil
	}
	escaped, method, fold := req.URL.EscapedPath(), strings.ToUpper(req.Method), r.Policy.Paths.Case == policy.CaseFold
	if escaped == req.URL.Path && method == req.Method && IsPlain(escaped) && !fold && (!r.hosts || isPlainHost(req.Host)) {
		m.Exempt = r.exempt != nil && !strings.Contains(escaped, ";") && r.exempts(req)
		_, pattern := r.mux.Handler(req)
		m.Endpoint = r.patterns[pattern]
		if len(r.wildcards) > 0 {
			m.read = []reading{{pattern, escaped}}
		}
		return m, nil
	}
	variants, ok := Variants(escaped, req.URL.Path)
	if !ok {
		return m, errLongPath
	}
	probe, u := *req, *req.URL
	probe.URL, probe.Host = &u, hostOf(req.Host)
	m.Exempt = r.exempt != nil && !strings.ContainsAny(escaped, "%;")
	for _, variant := range variants {
		path := variant
		if fold {
			path = FoldEscaped(variant)
		}
		for _, probe.Method = range slices.Compact([]string{req.Method, method}) {
			if m.Exempt {
				u.Path, u.RawPath = variant, "" // it has no escapes
				m.Exempt = r.exempts(&probe)
			}
			if u.Path, err = url.PathUnescape(path); err != nil {
				continue
			}
			u.RawPath = path
			_, pattern := r.mux.Handler(&probe)
			m.add(r.patterns[pattern], reading{pattern, variant})
		}
	}
	return m, nil
}

// exempts reports whether the policy exempts one reading of a request.
func (r *Routes) exempts(req *http.Request) bool {
	handler, pattern := r.exempt.Handler(req)
	_, registered := handler.(http.HandlerFunc) // ServeMux redirects /a to the pattern /a/, and another router does not
	return pattern != "" && registered
}

func (m *Match) add(e *policy.Endpoint, as reading) {
	switch {
	case e == nil:
	case m.Endpoint == nil || e == m.Endpoint:
		m.Endpoint, m.read = e, append(m.read, as)
	case !slices.Contains(m.Others, e.Name):
		m.Others = append(m.Others, e.Name)
	}
}

// hostOf returns a host in lower case without port and final dot, as in patterns.
func hostOf(host string) string {
	if name, port, err := net.SplitHostPort(host); err == nil && port != "" {
		host = name
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	return strings.ToLower(host)
}

// isPlainHost reports whether hostOf changes only the port, which ServeMux ignores.
func isPlainHost(host string) bool {
	for i := range len(host) {
		if c := host[i]; 'A' <= c && c <= 'Z' || c == '[' || c == '.' && (i == len(host)-1 || host[i+1] == ':') {
			return false
		}
	}
	return true
}

// folded returns a pattern with its host as hostOf returns it, and if path is set its path folded.
func folded(pattern string, path bool) string {
	method, host, p := policy.SplitPattern(pattern)
	if path {
		p = FoldEscaped(p)
	}
	return strings.TrimLeft(method+" "+hostOf(host)+p, " ")
}

// Identify reads the identities of a request, also those that are a part of its path.
func (r *Routes) Identify(reader *identity.Reader, req *http.Request, m Match) (identity.Found, error) {
	if len(r.wildcards) == 0 {
		return reader.Read(req, nil)
	}
	if len(m.read) == 0 {
		return reader.Read(req, req.PathValue) // of the router before the guard
	}
	found, err := reader.Read(req, m.read[0].value)
	for _, as := range m.read[1:] {
		for _, name := range r.wildcards {
			id := r.Policy.Identities[name]
			subject := name + "=" + id.Fold.Value(as.value(id.Path))
			if subject != name+"=" && !slices.Contains(found.Subjects, subject) && !slices.Contains(found.Also, subject) {
				found.Also = append(found.Also, subject)
			}
		}
	}
	return found, err
}

// value returns the part of a path that a wildcard of the pattern matches, decoded.
func (as reading) value(name string) string { return segment(as.pattern, as.path, name) }

// segment returns the part of a path that a wildcard of the pattern matches.
func segment(pattern, path, name string) string {
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
