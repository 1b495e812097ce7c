package grpcguard

import (
	"context"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/identity"
)

// An Explanation is how an interceptor would read a call.
type Explanation struct {
	// Endpoint is what the call is for; "" where no endpoint matches.
	Endpoint string
	// Others are the endpoints that another reading of the method means: the call is held to them as well.
	Others []string
	// Found is what the call says about its sender.
	Found identity.Found
	// Guard is how it would be decided; nil where no endpoint matches.
	Guard *guard.Explanation
}

// Explain returns how a call would be decided. It sends nothing to Redis, and counts nothing.
func (i *Interceptor) Explain(ctx context.Context, fullMethod string) (*Explanation, error) {
	methods := i.current()
	endpoint, others := methods.endpoints(fullMethod)
	if endpoint == nil {
		return &Explanation{}, nil
	}
	found, err := methods.reader.Read(asRequest(ctx, fullMethod), nil)
	if err != nil {
		return nil, err
	}
	e := &Explanation{Endpoint: endpoint.Name, Others: others, Found: found}
	e.Guard, err = i.guard.Explain(guard.Request{Endpoint: endpoint.Name, OtherEndpoints: others, Subjects: found.Subjects, Also: found.Also})
	return e, err
}
