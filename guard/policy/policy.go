package policy

import "time"

// A Policy holds the identities of requests and the limits that count them. The zero Policy limits nothing.
type Policy struct {
	// Version is the version of the policy format. Defaults to 1, the only one.
	Version int `yaml:"version" policy:"1..1"`
	// Namespace begins every key in Redis: 1 to 64 of A-Z a-z 0-9 _ - . Defaults to guard.
	Namespace string `yaml:"namespace" policy:"is=namespace"`
	// Timeout is the deadline of a decision's Redis call, 1ms to 1m. Defaults to 50ms.
	Timeout time.Duration `yaml:"timeout" policy:"1ms..1m"`
	// OnFailure is the failure mode of limits that have none: open allows, closed fails the request, local decides in this process by
	// its share. Defaults to local.
	OnFailure OnFailure `yaml:"on_failure"`
	// Share is the part of a limit that one process admits in failure mode local, above 0 and at most 1. A process that knows the number of
	// processes admits an even part if that is more. The shares of all replicas should add up to 1. Defaults to 0.25.
	Share float64 `yaml:"share" policy:"is=share"`
	// Identities are answers to "who is this?" by name, at most 15. Two need no definition: ip is the client's address, and client is ip
	// unless you define it. Defaults to these two.
	Identities map[string]Identity `yaml:"identities" policy:"items=0..15,is=identity"`
	// Paths is how request paths are compared with the endpoints' patterns.
	Paths Paths `yaml:"paths"`
	// Unmatched is how guard handles requests that no endpoint matches. Defaults to pass.
	Unmatched Unmatched `yaml:"unmatched"`
	// Limits apply to all endpoints together, at most 16 with an endpoint's own. Defaults to none.
	Limits []Limit `yaml:"limits" policy:"items=0..16"`
	// Cost holds the money budgets that endpoints charge. Defaults to none.
	Cost *Cost `yaml:"cost"`
	// Abuse blocks subjects on all endpoints after too many attempts. Defaults to no blocks.
	Abuse *Abuse `yaml:"abuse"`
	// Endpoints are the protected endpoints, at most 1000. Defaults to none.
	Endpoints []Endpoint `yaml:"endpoints" policy:"items=0..1000"`
	// Descriptors map the rate limit descriptors of Envoy to endpoints and identities, at most 1000. Defaults to none.
	Descriptors []Descriptor `yaml:"descriptors" policy:"items=0..1000"`
	// Plans give some clients other limits and budgets, by a verified identity. Defaults to none.
	Plans *Plans `yaml:"plans"`
	// Overrides are exceptions for single subjects. Defaults to none.
	Overrides Overrides `yaml:"overrides"`
}

// An Endpoint is a group of requests with limits of their own, in addition to those of the whole policy.
type Endpoint struct {
	// Name begins the names of its limits in Redis and is a label in metrics: 1 to 32 of A-Z a-z 0-9 _ -. Required.
	Name string `yaml:"name" policy:"required,is=name"`
	// Match holds patterns of net/http.ServeMux, at most 64, and 2000 of all endpoints; for gRPC "/pkg.Service/Method" and
	// "/pkg.Service/*". Defaults to none: code names the endpoint.
	Match []string `yaml:"match" policy:"items=0..64,is=pattern"`
	// Idempotency lets a repeat of a request pass without being counted. Defaults to none: every request counts.
	Idempotency *Idempotency `yaml:"idempotency"`
	// Unbounded permits requests that neither a limit by verified identities nor a global limit counts. Defaults to false: Check reports
	// such an endpoint.
	Unbounded bool `yaml:"unbounded"`
	// Limits are the limits of this endpoint, at most 16 with the policy's. Defaults to none.
	Limits []Limit `yaml:"limits" policy:"items=0..16"`
	// Cost charges requests to the policy's budgets. Defaults to nothing.
	Cost *EndpointCost `yaml:"cost"`
	// Abuse selects the requests that count as attempts. Defaults to none.
	Abuse Count `yaml:"abuse"`
	// Challenge is a one-time token that requests carry. Defaults to none.
	Challenge *Challenge `yaml:"challenge"`
}

// A Limit is the capacity of a subject in a window of time.
type Limit struct {
	// Name is unique among the limits and budgets of the endpoint: 1 to 32 of A-Z a-z 0-9 _ -. Required.
	Name string `yaml:"name" policy:"required,is=name"`
	// By is the identity that the limit counts, or several, whose combination is one subject; all counts every request. The limit skips
	// requests that lack an identity. Defaults to client.
	By By `yaml:"by" policy:"items=0..4,is=identity"`
	// Kind is the algorithm. Defaults to sliding_log.
	Kind Kind `yaml:"kind"`
	// Limit is the capacity of a window, 1 to 1000000, for a quota to 16777216; for a gcra the tokens that one window refills, and for a
	// concurrency the requests, or places, at the same time. Required.
	Limit int64 `yaml:"limit" policy:"required,1..1000000,quota=1..16777216"`
	// Window is the length of the window, 1us to 3650d, for a sliding_counter at most 90d; for a gcra the time that refills Limit tokens.
	// Required unless the limit is a quota or a concurrency, which have none.
	Window time.Duration `yaml:"window" policy:"required,1us..3650d,quota=none,concurrency=none"`
	// Lease is how long a concurrency keeps the places of a request whose process died, 1s to 1d; guard renews the leases of running
	// requests. For a concurrency only. Defaults to 30s.
	Lease time.Duration `yaml:"lease" policy:"1s..1d"`
	// Every is the length of a quota's period. Required for a quota.
	Every Every `yaml:"every"`
	// Zone is the time zone of a quota, a name of the IANA zone database such as Europe/Berlin. Defaults to UTC.
	Zone string `yaml:"zone"`
	// Starts is when the periods of a quota start: HH:MM, after a weekday for week, a day for month or MM-DD for year, for example 15 06:00.
	// Defaults to midnight, Monday, the 1st and 01-01.
	Starts Starts `yaml:"starts"`
	// Burst is the most tokens that a gcra holds, 1 to 1000000; for a gcra only. Defaults to Limit.
	Burst int64 `yaml:"burst" policy:"1..1000000"`
	// Cost is the charge of one request, 1 to 1000000 and at most the limit; 1 for a sliding_log. For a concurrency, the places of one
	// request, at most 1000. Defaults to 1.
	Cost int64 `yaml:"cost" policy:"1..1000000,concurrency=1..1000"`
	// Count selects the responses that count. guard charges each request first, and refunds it after any other response. Defaults to all.
	Count *Responses `yaml:"count"`
	// OnFailure is the failure mode of this limit. Defaults to the policy's.
	OnFailure OnFailure `yaml:"on_failure"`
	// Share is the part of this limit that one process admits in failure mode local, above 0 and at most 1. Defaults to the policy's.
	Share float64 `yaml:"share" policy:"is=share"`
	// Shadow makes this a shadow limit, which counts and logs, and never refuses. Defaults to false.
	Shadow bool `yaml:"shadow"`
	// DynamicMax lets a request bring another limit and window, as Envoy's descriptors do, and is the most that these may admit in Window, 1 to
	// 1000000. For a sliding_log or fixed_window of an endpoint only. Defaults to none: the policy decides.
	DynamicMax int64 `yaml:"dynamic_max" policy:"1..1000000"`
	// Prefetch lets each process take tokens of a hot global limit in batches. Defaults to none: each request calls Redis.
	Prefetch *Prefetch `yaml:"prefetch"`
}

// Endpoint returns the endpoint with a name, and whether there is one.
func (p *Policy) Endpoint(name string) (*Endpoint, bool) {
	for i := range p.Endpoints {
		if p.Endpoints[i].Name == name {
			return &p.Endpoints[i], true
		}
	}
	return nil, false
}
