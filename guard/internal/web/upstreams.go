package web

import (
	"cmp"
	"fmt"
	"net/http"
	"path"
	"strings"

	"github.com/rlfunc/rlfunc/guard/policy"
)

// Upstreams map outgoing requests to the upstreams of one policy. They are safe for concurrent use.
type Upstreams struct {
	mux *http.ServeMux
	of  map[string]*policy.Upstream // by pattern
}

// NewUpstreams returns the routes of a policy's upstreams.
func NewUpstreams(p *policy.Policy) (*Upstreams, error) {
	all := &Upstreams{http.NewServeMux(), map[string]*policy.Upstream{}}
	for i := range p.Upstreams {
		u := &p.Upstreams[i]
		for _, pattern := range u.Match {
			pattern = folded(pattern, false)
			if err := handle(all.mux, pattern); err != nil {
				return nil, fmt.Errorf("upstream %s: %w", u.Name, err)
			}
			all.of[pattern] = u
		}
	}
	return all, nil
}

// Match returns the upstream that a request goes to, or nil, and the pattern that matches it. The host is that of the URL, where the request goes,
// whatever its Host field says. A path that the upstream may read as another matches as that, too: what goes there is never uncounted.
func (all *Upstreams) Match(r *http.Request) (u *policy.Upstream, pattern string) {
	if r.Host == r.URL.Host && r.Method != "" && isPlainHost(r.Host) && IsPlain(r.URL.Path) {
		if _, pattern = all.mux.Handler(r); all.of[pattern] != nil {
			return all.of[pattern], pattern
		}
	}
	to := *r.URL
	probe := http.Request{Method: cmp.Or(strings.ToUpper(r.Method), http.MethodGet), Host: hostOf(to.Host), URL: &to}
	if clean := path.Clean("/" + to.Path); clean != to.Path && clean+"/" != to.Path {
		to.Path, to.RawPath = clean, ""
	}
	if _, pattern = all.mux.Handler(&probe); all.of[pattern] == nil { // one that ends with a slash
		to.Path, to.RawPath = to.Path+"/", ""
		_, pattern = all.mux.Handler(&probe)
	}
	return all.of[pattern], pattern
}

// Wildcard returns the part of a request's path that a wildcard of a pattern matches.
func Wildcard(pattern string, r *http.Request, name string) string {
	return segment(pattern, r.URL.EscapedPath(), name)
}
