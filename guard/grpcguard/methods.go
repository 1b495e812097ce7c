package grpcguard

import (
	"context"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/internal/web"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// methods maps methods to the endpoints of one policy.
type methods struct {
	policy   *policy.Policy
	exact    map[string]*guard.Endpoint // "/pkg.Service/Method"
	services map[string]*guard.Endpoint // "/pkg.Service/"
	exempt   map[string]bool            // "/pkg.Service/Method" and "/pkg.Service/*"
	reader   *identity.Reader
}

// Close ends the refreshes of keys. Calls in progress keep reading.
func (m *methods) Close() error { return m.reader.Close() }

func (i *Interceptor) compile(p *policy.Policy, endpoints []*guard.Endpoint) (*methods, error) {
	m := &methods{
		policy: p, exact: map[string]*guard.Endpoint{}, services: map[string]*guard.Endpoint{}, exempt: map[string]bool{},
	}
	for _, pattern := range p.Exempt {
		m.exempt[pattern] = true
	}
	for _, e := range endpoints {
		for _, pattern := range e.Match {
			if service, all := strings.CutSuffix(pattern, "*"); all {
				m.services[service] = e
			} else {
				m.exact[pattern] = e
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

// exempts reports whether the policy exempts a method.
func (m *methods) exempts(method string) bool {
	return len(m.exempt) > 0 && web.CheckMethod(method) == nil && (m.exempt[method] || m.exempt[method[:strings.LastIndexByte(method, '/')+1]+"*"])
}

// endpoint returns the endpoint of a method or of its service, or nil. A match by method wins. The error is of a method that proxies may forward
// as another.
func (m *methods) endpoint(method string) (*guard.Endpoint, error) {
	if err := web.CheckMethod(method); err != nil {
		return nil, err
	}
	if e := m.exact[method]; e != nil {
		return e, nil
	}
	return m.services[method[:strings.LastIndexByte(method, '/')+1]], nil
}
