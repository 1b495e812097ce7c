package grpcguard

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/internal/web"
)

// Stream is a grpc.StreamServerInterceptor.
func (i *Interceptor) Stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	ctx, method := stream.Context(), info.FullMethod
	if i.methods().exempts(method) {
		return handler(srv, stream)
	}
	d, who, err := i.admit(ctx, method, nil)
	if err != nil {
		return err
	}
	s := &guarded{ServerStream: stream, ctx: ctx, interceptor: i, method: method, who: who}
	if i.options.Messages != nil {
		s.received = i.options.Messages(method)
	}
	if d == nil && s.received == "" {
		return handler(srv, stream)
	}
	if d == nil { // only messages of the method have endpoints
		found, err := i.methods().reader.Read(asRequest(ctx, method), nil)
		if err != nil {
			return invalid(web.Unread(err, "call"))
		}
		s.who = &found
		return s.end(handler(srv, s))
	}
	returned, got := false, recovered
	s.ctx = context.WithValue(s.ctx, contextKey{}, d)
	d.Charge.Keep() // for the life of the stream
	defer func() {  // also if the handler panics
		end(s.ctx, d, !s.began.Load() && (!returned || s.ctx.Err() != nil), got)
	}()
	err = s.end(handler(srv, s))
	returned, got = true, []codes.Code{status.Code(err)}
	return err
}

// guarded is a stream that carries the decision and counts messages.
type guarded struct {
	grpc.ServerStream
	ctx         context.Context
	interceptor *Interceptor
	method      string
	who         *identity.Found
	received    string      // the endpoint of messages; "" does not count them
	began       atomic.Bool // the stream sent something
	refused     atomic.Pointer[error]
}

func (g *guarded) Context() context.Context { return g.ctx }

func (g *guarded) SendHeader(md metadata.MD) error {
	g.began.Store(true)
	return g.ServerStream.SendHeader(md)
}

func (g *guarded) SendMsg(m any) error {
	g.began.Store(true)
	return g.ServerStream.SendMsg(m)
}

// RecvMsg receives a message if it is allowed. After a refusal the stream receives nothing.
func (g *guarded) RecvMsg(m any) error {
	if refused := g.refused.Load(); refused != nil {
		return *refused
	}
	if err := g.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	return g.admit(m)
}

// admit decides about a message. The first refusal applies to the rest of the stream.
func (g *guarded) admit(message any) error {
	if g.received == "" {
		return nil
	}
	r := guard.Request{Endpoint: g.received, Subjects: g.who.Subjects}
	estimate, weight := g.interceptor.measure(g.ctx, g.method, message)
	r.Estimate, r.Units, r.Weight = estimate.Money, estimate.Units, weight
	d, err := g.interceptor.decide(g.ctx, r)
	if err != nil {
		g.refused.CompareAndSwap(nil, &err)
		return *g.refused.Load()
	}
	d.Charge.End(g.ctx, guard.End{}) // counts as estimated
	return nil
}

// end returns the handler's error, or a refusal that the handler did not return.
func (g *guarded) end(err error) error {
	if refused := g.refused.Load(); refused != nil {
		return *refused
	}
	return err
}
