package grpcguard

import (
	"context"

	"github.com/rlfunc/rlfunc/guard"
)

// Explain returns how guard would decide a call. It sends nothing to Redis and charges nothing.
func (i *Interceptor) Explain(ctx context.Context, fullMethod string) (*guard.Explanation, error) {
	methods := i.methods.Current()
	endpoint, others, err := methods.endpoints(fullMethod)
	if endpoint == nil {
		return &guard.Explanation{}, err
	}
	found, err := methods.reader.Read(asRequest(ctx, fullMethod), nil)
	if err != nil {
		return nil, err
	}
	return i.guard.Explain(guard.Request{Endpoint: endpoint.Name, OtherEndpoints: others, Subjects: found.Subjects, Also: found.Also})
}
