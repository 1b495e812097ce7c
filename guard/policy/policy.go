package policy

import "time"

// A Policy says what a service allows. The zero Policy limits nothing.
type Policy struct {
	// Version of this form. Defaults to 1, the only one.
	Version int `yaml:"version" policy:"1..1"`
	// Namespace starts every key in Redis: 1 to 64 of A-Z a-z 0-9 _ - . Defaults to guard.
	Namespace string `yaml:"namespace" policy:"is=namespace"`
	// Timeout is the hard deadline of a decision for Redis, 1ms to 1m. Defaults to 50ms.
	Timeout time.Duration `yaml:"timeout" policy:"1ms..1m"`
	// OnFailure is what a limit does without Redis where it says nothing itself. Defaults to local.
	OnFailure OnFailure `yaml:"on_failure"`
	// Share is how much of a limit one process admits where it decides alone, on_failure: local, unless an even part is more and the number
	// of processes is known. Above 0, at most 1: the replicas' shares should add up to 1. Defaults to 0.25.
	Share float64 `yaml:"share" policy:"is=share"`
	// Identities are answers to "who is this?" by name, at most 15. Two are always there: ip, the client's address, and client, which is
	// ip unless it is defined. Defaults to these.
	Identities map[string]Identity `yaml:"identities" policy:"items=0..15,is=identity"`
	// Paths says how paths are compared with the endpoints' patterns.
	Paths Paths `yaml:"paths"`
	// Unmatched is what becomes of a request that no endpoint matches. Defaults to pass.
	Unmatched Unmatched `yaml:"unmatched"`
	// Limits apply to each subject over all endpoints together; at most 16 with an endpoint's own. Defaults to none.
	Limits []Limit `yaml:"limits" policy:"items=0..16"`
	// Cost is a subject's budgets of money, over all endpoints that charge them. Defaults to none.
	Cost *Cost `yaml:"cost"`
	// Abuse blocks a subject that asks too often, on all endpoints. Defaults to no block.
	Abuse *Abuse `yaml:"abuse"`
	// Endpoints are what is protected, at most 1000. Defaults to none.
	Endpoints []Endpoint `yaml:"endpoints" policy:"items=0..1000"`
	// Plans give clients other limits and budgets, by a verified identity. Defaults to none.
	Plans *Plans `yaml:"plans"`
	// Overrides are exceptions for single subjects. Defaults to none.
	Overrides Overrides `yaml:"overrides"`
}

// An Endpoint is one thing that requests ask for, with its limits beside those of the whole policy.
type Endpoint struct {
	// Name is part of its limits' names in Redis and a label in metrics: 1 to 32 of A-Z a-z 0-9 _ -. Required.
	Name string `yaml:"name" policy:"required,is=name"`
	// Match are the patterns of net/http.ServeMux that lead here, at most 64, and 2000 of all endpoints; "/pkg.Service/Method" and
	// "/pkg.Service/*" for gRPC. Defaults to none: the endpoint is asked for by its name.
	Match []string `yaml:"match" policy:"items=0..64,is=pattern"`
	// Idempotency lets a request that is repeated with the same key pass without being counted again. Defaults to none: each request
	// counts.
	Idempotency *Idempotency `yaml:"idempotency"`
	// Unbounded says that requests may pass that no limit of a verified identity and no limit by: all counts. Defaults to false: such
	// an endpoint is an error.
	Unbounded bool `yaml:"unbounded"`
	// Limits apply to each subject. Defaults to none.
	Limits []Limit `yaml:"limits" policy:"items=0..16"`
	// Cost charges a request to the policy's budgets. Defaults to nothing.
	Cost *EndpointCost `yaml:"cost"`
	// Abuse says which requests are attempts that the policy's tiers count. Defaults to none.
	Abuse Count `yaml:"abuse"`
	// Challenge is a one-time token that a request brings. Defaults to none.
	Challenge *Challenge `yaml:"challenge"`
}

// A Limit is how much may be taken in a window of time.
type Limit struct {
	// Name is 1 to 32 of A-Z a-z 0-9 _ -, and stands for one limit or budget of its endpoint. Required.
	Name string `yaml:"name" policy:"required,is=name"`
	// By is whose requests it counts together: the name of an identity, or several, whose combination is one subject; all counts every
	// request. A request that lacks the identity is not counted. Defaults to client.
	By By `yaml:"by" policy:"items=0..4,is=identity"`
	// Kind is how it counts. Defaults to sliding_log.
	Kind Kind `yaml:"kind"`
	// Limit is the most that is taken in a window, 1 to 1000000; of a gcra the tokens gained in one. Required.
	Limit int64 `yaml:"limit" policy:"required,1..1000000"`
	// Window is 1us to 3650d, of a sliding_counter at most 90d; of a gcra the time in which Limit tokens are gained.
	// Required.
	Window time.Duration `yaml:"window" policy:"required,1us..3650d"`
	// Burst is the most tokens that a gcra holds, 1 to 1000000; for a gcra only. Defaults to Limit.
	Burst int64 `yaml:"burst" policy:"1..1000000"`
	// Cost is what one request takes, 1 to 1000000 and at most the limit; of a sliding_log 1. Defaults to 1.
	Cost int64 `yaml:"cost" policy:"1..1000000"`
	// Count says which responses it counts. A request is charged first, and given back if its response is another one. Defaults to all.
	Count *Responses `yaml:"count"`
	// OnFailure is what this limit does without Redis. Defaults to the policy's.
	OnFailure OnFailure `yaml:"on_failure"`
	// Share is how much of the limit one process admits when local, above 0 and at most 1. Defaults to the policy's.
	Share float64 `yaml:"share" policy:"is=share"`
	// Shadow limits are decided, counted and logged, and refuse nothing. Defaults to false.
	Shadow bool `yaml:"shadow"`
}

// Endpoint returns the endpoint of that name.
func (p *Policy) Endpoint(name string) (*Endpoint, bool) {
	for i := range p.Endpoints {
		if p.Endpoints[i].Name == name {
			return &p.Endpoints[i], true
		}
	}
	return nil, false
}
