package grpcguard

import (
	"context"
	"errors"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/identity"
)

// Stream is a grpc.StreamServerInterceptor.
func (i *Interceptor) Stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	d, who, err := i.admit(stream.Context(), info.FullMethod)
	if err != nil {
		return err
	}
	s := &guarded{ServerStream: stream, ctx: stream.Context(), interceptor: i, who: who}
	if i.options.Messages != nil {
		s.messages = i.options.Messages(info.FullMethod)
	}
	if d == nil && s.messages == "" {
		return handler(srv, stream)
	}
	if d == nil {
		if s.who, err = i.current().read(s.ctx); err != nil { // the policy does not name the method itself
			return invalid(err)
		}
		err = handler(srv, s)
		return s.end(err)
	}
	returned, code := false, codes.Unknown
	s.ctx = context.WithValue(s.ctx, contextKey{}, d)
	defer func() { // also when the handler panics
		d.FinishSoon(s.ctx, !s.began.Load() && (!returned || s.ctx.Err() != nil))
		respond(s.ctx, d, code)
	}()
	err = s.end(handler(srv, s))
	returned, code = true, status.Code(err)
	return err
}

// guarded is a stream whose context holds the decision, and whose received messages may be counted.
type guarded struct {
	grpc.ServerStream
	ctx         context.Context
	interceptor *Interceptor
	who         *identity.Found
	messages    string      // the endpoint that received messages are for; "" counts none
	began       atomic.Bool // something was sent
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

// RecvMsg receives a message and decides about it. After a refusal the stream receives nothing.
func (g *guarded) RecvMsg(m any) error {
	if refused := g.refused.Load(); refused != nil {
		return *refused
	}
	err := g.ServerStream.RecvMsg(m)
	if err != nil || g.messages == "" {
		return err
	}
	d, err := g.interceptor.decide(g.ctx, guard.Request{Endpoint: g.messages, Subjects: g.who.Subjects, Also: g.who.Also})
	if err != nil {
		if errors.Is(err, guard.ErrEndpoint) {
			err = failure(err)
		}
		g.refused.Store(&err)
		return err
	}
	d.FinishSoon(g.ctx, false) // the handler has it: it counts as estimated
	return nil
}

// end is a handler's error, or the refusal that it did not pass on.
func (g *guarded) end(err error) error {
	if refused := g.refused.Load(); refused != nil {
		return *refused
	}
	return err
}
