package grpcguard

import (
	"context"
	"errors"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/internal/web"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// methods maps methods to the endpoints of one policy.
type methods struct {
	policy   *policy.Policy
	exact    map[string]*policy.Endpoint // "/pkg.Service/Method"
	services map[string]*policy.Endpoint // "/pkg.Service/"
	fold     bool                        // compare in lower case, except for exempt methods
	exempt   map[string]bool             // "/pkg.Service/Method" and "/pkg.Service/*"
	reader   *identity.Reader
}

// Close ends the refreshes of keys. Calls in progress keep reading.
func (m *methods) Close() error { return m.reader.Close() }

func (i *Interceptor) compile(p *policy.Policy) (*methods, error) {
	m := &methods{
		policy: p, exact: map[string]*policy.Endpoint{}, services: map[string]*policy.Endpoint{}, fold: p.Paths.Case == policy.CaseFold,
		exempt: map[string]bool{},
	}
	for _, pattern := range p.Exempt {
		m.exempt[pattern] = true
	}
	for j := range p.Endpoints {
		for _, pattern := range p.Endpoints[j].Match {
			pattern = m.folded(pattern)
			if service, all := strings.CutSuffix(pattern, "*"); all {
				m.services[service] = &p.Endpoints[j]
			} else {
				m.exact[pattern] = &p.Endpoints[j]
			}
		}
	}
	var err error
	m.reader, err = p.Reader(i.options.Code, i.options.Identity)
	return m, err
}

// asRequest returns a call as an HTTP request, which package identity reads: metadata as headers, the peer as remote address.
func asRequest(ctx context.Context, method string) *http.Request {
	r := &http.Request{Method: http.MethodPost, Header: http.Header{}, URL: &url.URL{Path: method}}
	if p, ok := peer.FromContext(ctx); ok {
		switch {
		case p.Addr == nil:
		case p.Addr.Network() == "unix":
			r.RemoteAddr = "@" // and not its name, which the peer chooses
		default:
			r.RemoteAddr = p.Addr.String()
		}
		if t, ok := p.AuthInfo.(credentials.TLSInfo); ok {
			r.TLS = &t.State
		}
	}
	md, _ := metadata.FromIncomingContext(ctx)
	for key, values := range md {
		r.Header[textproto.CanonicalMIMEHeaderKey(key)] = values
	}
	return r.WithContext(ctx)
}

// exempts reports whether the policy exempts a method. Proxies read one with an escape or a semicolon in several ways, so it is none of these.
func (m *methods) exempts(method string) bool {
	return len(m.exempt) > 0 && web.IsPlain(method) && !strings.ContainsAny(method, "%;\\") &&
		(m.exempt[method] || m.exempt[method[:strings.LastIndexByte(method, '/')+1]+"*"])
}

var errLongMethod = errors.New("the method is too long to be read in all the ways in which proxies may read it")

// endpoints returns the endpoint that a method matches, and the names of others that it matches if a proxy decodes or cleans it.
func (m *methods) endpoints(method string) (first *policy.Endpoint, names []string, err error) {
	if web.IsPlain(method) && !strings.Contains(method, "%") {
		return m.endpoint(method), nil, nil
	}
	escaped := "/" + strings.TrimLeft(method, "/") // grpc-go before 1.79.3 also serves pkg.Service/Method
	decoded, err := url.PathUnescape(escaped)
	if err != nil {
		decoded = escaped
	}
	match := func(path string) {
		switch e := m.endpoint(path); {
		case e == nil || e == first || slices.Contains(names, e.Name):
		case first == nil:
			first = e
		default:
			names = append(names, e.Name)
		}
	}
	variants, ok := web.Variants(escaped, decoded)
	if !ok {
		return nil, nil, errLongMethod
	}
	match(escaped)
	for _, p := range variants {
		match(p)
		if path, err := url.PathUnescape(p); err == nil {
			match(path)
		}
	}
	return first, names, nil
}

// endpoint returns the endpoint of a method or of its service, or nil. A match by method wins.
func (m *methods) endpoint(method string) *policy.Endpoint {
	method = m.folded(method)
	if e := m.exact[method]; e != nil {
		return e
	}
	return m.services[method[:strings.LastIndexByte(method, '/')+1]]
}

func (m *methods) folded(method string) string {
	if m.fold {
		return web.Fold(method)
	}
	return method
}
