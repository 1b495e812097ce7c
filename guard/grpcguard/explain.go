package grpcguard

import (
	"context"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/identity"
)

// An Explanation describes how an interceptor reads a call.
type Explanation struct {
	// Endpoint is the endpoint of the call; "" if none matches.
	Endpoint string
	// Others are further endpoints that a proxy may serve the call as. Their limits apply as well.
	Others []string
	// Found is the identities of the call.
	Found identity.Found
	// Guard is how guard would decide; nil if no endpoint matches.
	Guard *guard.Explanation
}

// Explain returns how guard would decide a call. It sends nothing to Redis and charges nothing.
func (i *Interceptor) Explain(ctx context.Context, fullMethod string) (*Explanation, error) {
	methods := i.methods.Current()
	endpoint, others, err := methods.endpoints(fullMethod)
	if endpoint == nil {
		return &Explanation{}, err
	}
	found, err := methods.reader.Read(asRequest(ctx, fullMethod), nil)
	if err != nil {
		return nil, err
	}
	e := &Explanation{Endpoint: endpoint.Name, Others: others, Found: found}
	e.Guard, err = i.guard.Explain(guard.Request{Endpoint: endpoint.Name, OtherEndpoints: others, Subjects: found.Subjects, Also: found.Also})
	return e, err
}
