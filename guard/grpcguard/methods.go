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

	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// methods are what one policy says about calls.
type methods struct {
	policy   *policy.Policy
	exact    map[string]*policy.Endpoint // "/pkg.Service/Method"
	services map[string]*policy.Endpoint // "/pkg.Service/"
	reader   *identity.Reader
}

func (i *Interceptor) compile(p *policy.Policy) (*methods, error) {
	m := &methods{policy: p, exact: map[string]*policy.Endpoint{}, services: map[string]*policy.Endpoint{}}
	for j := range p.Endpoints {
		for _, pattern := range p.Endpoints[j].Match {
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

// read reads who a call is from.
func (m *methods) read(ctx context.Context) (*identity.Found, error) {
	found, err := m.reader.Read(asRequest(ctx), nil)
	return &found, err
}

// asRequest is a call as package identity reads one: its metadata as headers, its peer as the remote address.
func asRequest(ctx context.Context) *http.Request {
	r := &http.Request{Header: http.Header{}, URL: new(url.URL)}
	if p, ok := peer.FromContext(ctx); ok {
		if p.Addr != nil {
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

// current returns the methods of the policy that holds now. The guard takes no policy that can not be compiled, see New.
func (i *Interceptor) current() *methods {
	had, p := i.methods.Load(), i.guard.Policy()
	if had.policy == p {
		return had
	}
	m, err := i.compile(p)
	if err != nil {
		return had
	}
	if i.methods.CompareAndSwap(had, m) {
		_ = had.reader.Close() // it reads on, with the keys of then
	} else {
		_ = m.reader.Close()
	}
	return m
}

// endpoint returns what a method is for, or nil. A method by its own name goes before its service.
func (m *methods) endpoint(method string) *policy.Endpoint {
	if strings.HasPrefix(method, "//") { // as a proxy may clean it
		method = "/" + strings.TrimLeft(method, "/")
	}
	if e := m.exact[method]; e != nil {
		return e
	}
	return m.services[method[:strings.LastIndexByte(method, '/')+1]]
}
