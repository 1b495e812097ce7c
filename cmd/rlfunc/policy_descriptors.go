package main

import (
	"fmt"
	"strings"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/usage"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/envoyguard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// rateLimitRequest returns the request of Envoy with the descriptors of the flags.
func (q *requestFlags) rateLimitRequest() (*ratelimitv3.RateLimitRequest, error) {
	r := &ratelimitv3.RateLimitRequest{}
	for _, text := range q.descriptors {
		fields := strings.Fields(text)
		if len(fields) < 2 {
			return nil, usage.Errorf("--descriptor must be a domain and entries, such as 'edge route=login', got %q", text)
		}
		if r.Domain != "" && r.Domain != fields[0] {
			return nil, usage.Errorf("a request has one domain, got %s and %s", r.Domain, fields[0])
		}
		d := &commonv3.RateLimitDescriptor{}
		r.Domain = fields[0]
		for _, entry := range fields[1:] {
			key, value, ok := strings.Cut(entry, "=")
			if !ok {
				return nil, usage.Errorf("--descriptor: an entry must be KEY=VALUE, got %q", entry)
			}
			d.Entries = append(d.Entries, &commonv3.RateLimitDescriptor_Entry{Key: key, Value: value})
		}
		r.Descriptors = append(r.Descriptors, d)
	}
	return r, nil
}

// explainDescriptors prints how rlfunc serve would decide a request of Envoy.
func (a *app) explainDescriptors(file string, q *requestFlags) error {
	r, err := q.rateLimitRequest()
	if err != nil {
		return err
	}
	p, err := policy.Load(file)
	if err != nil {
		return err
	}
	values, err := q.values(p)
	if err != nil {
		return err
	}
	g, err := guard.New(redis.NewClient(&redis.Options{}), p, guard.Options{CacheSize: -1}) // no call is made
	if err != nil {
		return err
	}
	defer g.Close()
	s, err := envoyguard.New(g, envoyguard.Options{Code: stubCode(p, values)})
	if err != nil {
		return err
	}
	e, err := s.Explain(r)
	if err != nil {
		return fmt.Errorf("explain the descriptors: %w", err)
	}
	p = g.Policy()
	out := explanationOf(p, e.Guard)
	for i, rule := range e.Rules {
		d := explainedDescriptor{Descriptor: q.descriptors[i], Rule: rule}
		if rule >= 0 {
			d.Endpoint = p.Descriptors[rule].Endpoint
		}
		out.Descriptors = append(out.Descriptors, d)
	}
	if e.Answer != nil {
		out.Answer, out.Error = e.Answer.OverallCode.String(), e.Answer.GetDynamicMetadata().GetFields()["error"].GetStringValue()
	}
	if a.json {
		return a.printJSON(out)
	}
	for _, d := range out.Descriptors {
		if d.Rule < 0 {
			a.explain("descriptor", "%s matches none: it is not limited", d.Descriptor)
		} else {
			a.explain("descriptor", "%s matches descriptors[%d]: endpoint %s", d.Descriptor, d.Rule, d.Endpoint)
		}
	}
	if out.Answer != "" {
		a.explain("answer", "%s", strings.TrimSuffix(out.Answer+", "+out.Error, ", "))
		return nil
	}
	a.printFound(p, e.Guard)
	return nil
}
