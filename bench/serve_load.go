package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
)

// request returns the request of client i, with up to three descriptors.
func request(i, descriptors int) *ratelimitv3.RateLimitRequest {
	entry := func(key, value string) *commonv3.RateLimitDescriptor {
		return &commonv3.RateLimitDescriptor{Entries: []*commonv3.RateLimitDescriptor_Entry{{Key: key, Value: value}}}
	}
	return &ratelimitv3.RateLimitRequest{Domain: "bench", Descriptors: []*commonv3.RateLimitDescriptor{
		entry("remote_address", fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255)),
		entry("user", fmt.Sprint("user-", i)),
		entry("tenant", fmt.Sprint("tenant-", i%100)),
	}[:descriptors]}
}

// requests returns those of the callers' clients; making one takes time.
func requests(descriptors int) []*ratelimitv3.RateLimitRequest {
	all := make([]*ratelimitv3.RateLimitRequest, callerSubjects)
	for i := range all {
		all[i] = request(i, descriptors)
	}
	return all
}

// ask sends a request of caller i, and checks that it passes.
func (t *target) ask(ctx context.Context, i int, r *ratelimitv3.RateLimitRequest) error {
	a, err := t.clients[i%connections].ShouldRateLimit(ctx, r)
	if err == nil && a.OverallCode != ratelimitv3.RateLimitResponse_OK {
		err = errors.New("answered " + a.OverallCode.String())
	}
	return err
}

// A load is the result of one round.
type load struct {
	crowd
	cpu float64 // CPU seconds of the server's process for 100,000 requests
}

// crowded sends requests from callers during span.
func (t *target) crowded(ctx context.Context, all []*ratelimitv3.RateLimitRequest, callers int, span time.Duration) (load, error) {
	before, err := t.cpu()
	if err != nil {
		return load{}, err
	}
	c, err := gather(ctx, way{name: t.name, call: func(ctx context.Context, i int) error { return t.ask(ctx, i, all[i]) }}, callers, span)
	if err != nil {
		return load{}, err
	}
	after, err := t.cpu()
	return load{c, (after - before).Seconds() * 100_000 / (c.perSecond * span.Seconds())}, err
}
