package grpcguard

import (
	"context"
	"net/http"
	"net/textproto"
	"strings"

	"google.golang.org/grpc/metadata"

	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// methods are what one policy says about calls.
type methods struct {
	policy   *policy.Policy
	exact    map[string]*policy.Endpoint // "/pkg.Service/Method"
	services map[string]*policy.Endpoint // "/pkg.Service/"
	identify func(context.Context, string) (identity.Identity, error)
}

func (i *Interceptor) compile(p *policy.Policy) (*methods, error) {
	m := &methods{policy: p, exact: map[string]*policy.Endpoint{}, services: map[string]*policy.Endpoint{}, identify: i.options.Identify}
	if m.identify == nil {
		who, err := p.Identity.Identifier(i.options.Verifier)
		if err != nil {
			return nil, err
		}
		m.identify = func(ctx context.Context, _ string) (identity.Identity, error) { return who.Identify(asRequest(ctx)) }
	}
	for j := range p.Endpoints {
		for _, pattern := range p.Endpoints[j].Match {
			if service, all := strings.CutSuffix(pattern, "*"); all {
				m.services[service] = &p.Endpoints[j]
			} else {
				m.exact[pattern] = &p.Endpoints[j]
			}
		}
	}
	return m, nil
}

// asRequest is a call as package identity reads one: its metadata as headers, its peer as the remote address.
func asRequest(ctx context.Context) *http.Request {
	r := &http.Request{Header: http.Header{}, RemoteAddr: peerAddr(ctx)}
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
	i.methods.CompareAndSwap(had, m)
	return m
}

// endpoint returns what a method is for, or nil. A method by its own name goes before its service.
func (m *methods) endpoint(method string) *policy.Endpoint {
	if e := m.exact[method]; e != nil {
		return e
	}
	return m.services[method[:strings.LastIndexByte(method, '/')+1]]
}
