package outbound

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"

	"golang.org/x/net/idna"

	"github.com/rlfunc/rlfunc/guard/internal/web"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// routes map requests to the upstreams of one policy. They are safe for concurrent use.
type routes struct {
	mux *http.ServeMux
	of  map[string]*policy.Upstream // by pattern
}

func newRoutes(p *policy.Policy) (*routes, error) {
	all := &routes{http.NewServeMux(), map[string]*policy.Upstream{}}
	for i := range p.Upstreams {
		u := &p.Upstreams[i]
		for _, pattern := range u.Match {
			method, host, path := policy.SplitPattern(pattern)
			pattern = strings.TrimLeft(method+" "+dialled(host)+path, " ")
			if err := web.Handle(all.mux, pattern); err != nil {
				return nil, fmt.Errorf("upstream %s: %w", u.Name, err)
			}
			all.of[pattern] = u
		}
	}
	return all, nil
}

// dialled returns a host without its port in the form in which net/http dials it, however it is spelled.
func dialled(host string) string {
	host = web.HostOf(host)
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().String()
	}
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		return web.HostOf(ascii)
	}
	return host
}

// A route is the upstream that a request goes to, or none.
type route struct {
	*policy.Upstream
	pattern, host, path string // path is escaped, and what the pattern matched
}

// match returns the route of a request. The host is that of the URL, where the request goes, whatever its Host field says. A path that the upstream may
// read as another matches as that, too: what goes there is never uncounted.
func (all *routes) match(r *http.Request) route {
	to := url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath}
	if r.URL.Opaque != "" { // which is sent in place of the path
		if u, err := url.Parse(r.URL.Opaque); err == nil {
			to.Path, to.RawPath = u.Path, u.RawPath
		}
	}
	if clean := path.Clean("/" + to.Path); clean != to.Path && clean+"/" != to.Path {
		to.Path, to.RawPath = clean, ""
	}
	found := route{host: dialled(r.URL.Host)}
	probe := http.Request{Method: cmp.Or(strings.ToUpper(r.Method), http.MethodGet), Host: found.host, URL: &to}
	hostless := route{host: found.host}
	for {
		for _, slash := range []string{"", "/"} { // a pattern that ends with a slash matches without it, too
			to := to
			if slash != "" {
				to.Path, to.RawPath = to.Path+slash, ""
			}
			probe.URL = &to
			_, found.pattern = all.mux.Handler(&probe)
			if found.Upstream = all.of[found.pattern]; found.Upstream == nil {
				continue
			}
			found.path = to.EscapedPath()
			if _, host, _ := policy.SplitPattern(found.pattern); host != "" {
				return found
			}
			hostless = found
			break
		}
		_, parent, ok := strings.Cut(strings.TrimPrefix(probe.Host, "*."), ".")
		if !ok {
			return hostless
		}
		probe.Host = "*." + parent
	}
}
