package httpguard

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/internal/pathnorm"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// routes maps requests to the endpoints of one policy.
type routes struct {
	policy    *policy.Policy
	mux       *http.ServeMux // nil if no endpoint has patterns
	patterns  map[string]*policy.Endpoint
	hosts     bool // some pattern has a host
	reader    *identity.Reader
	wildcards bool // some identity is a wildcard of a pattern
}

// Close ends the refreshes of keys. Requests in progress keep reading.
func (r *routes) Close() error { return r.reader.Close() }

func (m *Middleware) compile(p *policy.Policy) (*routes, error) {
	r := &routes{policy: p, patterns: map[string]*policy.Endpoint{}}
	for i := range p.Endpoints {
		e := &p.Endpoints[i]
		for _, pattern := range e.Match {
			if strings.HasPrefix(pattern, "/") && strings.HasSuffix(pattern, "/*") {
				continue // a gRPC pattern
			}
			if r.mux == nil {
				r.mux = http.NewServeMux()
			}
			pattern = folded(pattern, p.Paths.Case == policy.CaseFold)
			if err := handle(r.mux, pattern); err != nil {
				return nil, fmt.Errorf("endpoint %s: %w", e.Name, err)
			}
			r.patterns[pattern] = e
			_, host, _ := parts(pattern)
			r.hosts = r.hosts || host != ""
		}
	}
	for _, id := range p.Identities {
		r.wildcards = r.wildcards || id.Path != ""
	}
	var err error
	r.reader, err = p.Reader(m.options.Code, m.options.Identity)
	return r, err
}

// handle adds a pattern. It returns the error that ServeMux panics with for an invalid or duplicate pattern.
func handle(mux *http.ServeMux, pattern string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	mux.Handle(pattern, http.NotFoundHandler())
	return nil
}

// endpoints returns the endpoint that a request matches, and the names of others that it matches if a router reads its path differently.
// Limits of all of them apply, so no spelling avoids a limit.
func (r *routes) endpoints(req *http.Request) (first *policy.Endpoint, names []string) {
	if r.mux == nil {
		return nil, nil
	}
	escaped, decoded := req.URL.EscapedPath(), req.URL.Path
	if r.policy.Paths.Case == policy.CaseFold {
		escaped, decoded = strings.ToLower(escaped), strings.ToLower(decoded)
	}
	if escaped == req.URL.Path && escaped == decoded && pathnorm.IsPlain(escaped) && (!r.hosts || isPlainHost(req.Host)) {
		return r.patterns[r.match(req)], nil
	}
	probe, u := *req, *req.URL
	probe.URL, probe.Host = &u, hostOf(req.Host)
	for _, p := range pathnorm.Variants(escaped, decoded) {
		path, err := url.PathUnescape(p)
		if err != nil {
			continue
		}
		u.Path, u.RawPath = path, p
		switch e := r.patterns[r.match(&probe)]; {
		case e == nil || e == first || slices.Contains(names, e.Name):
		case first == nil:
			first = e
		default:
			names = append(names, e.Name)
		}
	}
	return first, names
}

func (r *routes) match(req *http.Request) string {
	_, pattern := r.mux.Handler(req)
	return pattern
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

// parts splits a pattern into its method with the blanks after it, its host and its path.
func parts(pattern string) (method, host, path string) {
	rest := pattern
	if i := strings.LastIndexAny(pattern, " \t"); i >= 0 {
		method, rest = pattern[:i+1], pattern[i+1:]
	}
	slash := strings.IndexByte(rest, '/')
	return method, rest[:slash], rest[slash:]
}

// folded returns a pattern with its host as hostOf returns it, and if path is set its path in lower case. Wildcard names stay.
func folded(pattern string, path bool) string {
	method, host, p := parts(pattern)
	if path {
		segments := strings.Split(p, "/")
		for i, s := range segments {
			if !strings.HasPrefix(s, "{") {
				segments[i] = strings.ToLower(s)
			}
		}
		p = strings.Join(segments, "/")
	}
	return method + hostOf(host) + p
}
