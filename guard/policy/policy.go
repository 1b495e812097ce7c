package policy

import (
	"time"
)

// A Policy holds the identities of requests and the limits that count them. The zero Policy limits nothing.
type Policy struct {
	// Version is the version of the policy format, which is 1. Defaults to 1.
	Version int `yaml:"version" policy:"1..1,default=1"`
	// Namespace begins every key in Redis: 1 to 64 of A-Z a-z 0-9 _ - and dot. Defaults to rl.
	Namespace string `yaml:"namespace" policy:"is=namespace,default=rl"`
	// Timeout is how long a decision waits for Redis, 1ms to 1m; then the failure modes decide. Defaults to 50ms.
	Timeout time.Duration `yaml:"timeout" policy:"1ms..1m,default=50ms"`
	// OnFailure is the failure mode of limits that have none, for when Redis does not answer: open allows the request, closed fails it, and
	// local decides in this process by its share. Defaults to local.
	OnFailure OnFailure `yaml:"on_failure" policy:"default=local"`
	// Share is the part of a limit that one process admits in failure mode local, above 0 and at most 1. A process that knows how many there
	// are admits an even part if that is more. The shares of all replicas should add up to 1. Defaults to 0.25.
	Share float64 `yaml:"share" policy:"is=share,default=0.25"`
	// Identities are answers to "who is this?" by name, at most 15. Two need no definition: ip is the client's address, and client is ip
	// unless you define it. Defaults to these two.
	Identities map[string]Identity `yaml:"identities" policy:"items=0..15,is=identity"`
	// Paths is what becomes of a path with an empty segment or a dot segment, as in //v1/chat and /v1/../chat: guard refuses the request with 400,
	// or counts it as clean, for services whose router cleans paths in the same way. Defaults to refuse.
	Paths Paths `yaml:"paths" policy:"default=refuse"`
	// Escapes is what becomes of a path with an escaped slash, %2F: guard refuses the request with 400, or does keep it as a part of its segment,
	// for services whose router does. Defaults to refuse.
	Escapes Escapes `yaml:"escapes" policy:"default=refuse"`
	// Unmatched is what happens to a request that no endpoint matches: pass, or refuse with 404 (in gRPC Unimplemented). Defaults to pass.
	Unmatched Unmatched `yaml:"unmatched" policy:"default=pass"`
	// Exempt holds patterns, as of endpoints, of requests that guard does not decide at all, such as GET /healthz, at most 32: no limit,
	// block or override applies to them, even if an endpoint matches. A pattern for
	// OPTIONS exempts preflights: requests with Origin and Access-Control-Request-Method. Defaults to none.
	Exempt []string `yaml:"exempt" policy:"items=0..32,is=pattern"`
	// RetryJitter is the most time, 1ms to 1h, that is added at random to the wait that refused clients are told. It is never more than that
	// wait, and spreads clients that wait for the same moment. Defaults to none: clients are told the exact wait.
	RetryJitter time.Duration `yaml:"retry_jitter" policy:"1ms..1h"`
	// Limits apply to all endpoints together, at most 16 with an endpoint's own. Defaults to none.
	Limits []Limit `yaml:"limits" policy:"items=0..16"`
	// Budgets are what subjects may spend, in money and at most 4 other units: at most 16. Endpoints with a cost charge all of them together, or
	// none. Defaults to none.
	Budgets []Budget `yaml:"budgets" policy:"items=0..16"`
	// Blocks are blocks after too many attempts, at most 16. Each counts the attempts at the endpoints that name it, and holds there. Defaults to none.
	Blocks []Block `yaml:"blocks" policy:"items=0..16"`
	// Endpoints are the protected endpoints, at most 1000. Defaults to none.
	Endpoints []Endpoint `yaml:"endpoints" policy:"items=0..1000"`
	// Upstreams are the APIs of others that the service calls, at most 100. Defaults to none.
	Upstreams []Upstream `yaml:"upstreams" policy:"items=0..100"`
	// Descriptors map the rate limit descriptors of Envoy to endpoints and identities, at most 1000. Defaults to none.
	Descriptors []Descriptor `yaml:"descriptors" policy:"items=0..1000"`
	// Plans tell which identity names the plan of a client, for limits and budgets that differ. Defaults to none.
	Plans *Plans `yaml:"plans"`
	// Overrides are exceptions for single subjects. Defaults to none.
	Overrides Overrides `yaml:"overrides"`
}

// An Endpoint is a group of requests with limits of their own, in addition to those of the whole policy.
type Endpoint struct {
	// Name begins the names of its limits in Redis and is a label in metrics: 1 to 32 of A-Z a-z 0-9 _ -. Required.
	Name string `yaml:"name" policy:"required,is=name"`
	// Match holds patterns of net/http.ServeMux, at most 64, and 2000 of all endpoints; for gRPC "/pkg.Service/Method" and "/pkg.Service/*".
	// Defaults to none: code names the endpoint.
	Match []string `yaml:"match" policy:"items=0..64,is=pattern"`
	// Idempotency lets a repeat of a request pass without being counted. Defaults to none: every request counts.
	Idempotency *Idempotency `yaml:"idempotency"`
	// Unbounded permits requests that neither a limit by verified identities nor a global limit counts. Defaults to false: such an endpoint
	// is an error.
	Unbounded bool `yaml:"unbounded"`
	// Limits are the limits of this endpoint, at most 16 with the policy's. Defaults to none.
	Limits []Limit `yaml:"limits" policy:"items=0..16"`
	// Cost is what a request reserves of the policy's budgets, which it charges; {} reserves what its caller says. Defaults to nothing: requests are free.
	Cost *EndpointCost `yaml:"cost"`
	// Block is the name of the block that counts attempts here, and refuses requests while it holds. Defaults to none.
	Block string `yaml:"block" policy:"is=name"`
	// Challenge is a one-time token that requests carry. Defaults to none.
	Challenge *Challenge `yaml:"challenge"`
}

// A Limit is the capacity of a subject in a window of time.
type Limit struct {
	// Name is unique among the limits and budgets of the endpoint: 1 to 32 of A-Z a-z 0-9 _ -, and at most 63 characters with the endpoint's
	// name. Required.
	Name string `yaml:"name" policy:"required,is=name"`
	// By is the identity that the limit counts, or a list of at most 4, whose combination is one subject; all counts every request. The
	// limit skips requests that lack an identity. Defaults to client.
	By By `yaml:"by" policy:"items=0..4,is=identity,default=client"`
	// Rate is the short form of limit and window: 10/1m is 10 in a minute. Defaults to these two.
	Rate string `yaml:"rate" policy:"plans,is=rate"`
	// Kind is the algorithm; a limit above 1000 must have one. Defaults to sliding_log, which stores each request.
	Kind Kind `yaml:"kind" policy:"default=sliding_log"`
	// Limit is the capacity of a window, 1 to 1000000000000, for a sliding_log and a concurrency, which store each request, to 1000000; for
	// a gcra the tokens that one window refills, and for a concurrency the requests, or places, at the same time. A rate
	// stands for it. A mapping gives plans their own: {default: 10, pro: 100}. Required.
	Limit int64 `yaml:"limit" policy:"plans,required,1..1000000000000,sliding_log=1..1000000,concurrency=1..1000000"`
	// Window is the length of the window, 1ms to 3650d, for a sliding_counter at most 90d; for a gcra the time that refills the limit's
	// tokens. Required unless there is a rate, or the limit is a quota or a concurrency, which have none.
	Window time.Duration `yaml:"window" policy:"required,1ms..3650d,quota=none,concurrency=none"`
	// Lease is how long a concurrency keeps the places of a request whose process died, 1s to 1d; guard renews the leases of running
	// requests. For a concurrency only. Defaults to 30s.
	Lease time.Duration `yaml:"lease" policy:"1s..1d"`
	// Every is the length of a quota's period. Required for a quota.
	Every Every `yaml:"every"`
	// Zone is the time zone of a quota, a name of the IANA zone database such as Europe/Berlin. Defaults to UTC.
	Zone string `yaml:"zone"`
	// Starts is when the periods of a quota start: HH:MM, after a weekday for week, a day for month or MM-DD for year, for example 15 06:00.
	// A month that is too short for its day starts on its last one. Defaults to midnight, Monday, the 1st and 01-01.
	Starts Starts `yaml:"starts"`
	// Burst is the most tokens that a gcra holds, 1 to 1000000000000, refilled within 100 years; for a gcra only. Defaults to the limit.
	Burst int64 `yaml:"burst" policy:"plans,1..1000000000000"`
	// Weight is what one request takes of the limit, 1 to 1000000000000 and at most the limit or burst; 1 for a sliding_log. For a concurrency, the
	// places of one request, at most 1000. Defaults to 1.
	Weight int64 `yaml:"weight" policy:"plans,1..1000000000000,concurrency=1..1000,default=1"`
	// Count selects the responses that count. guard charges each request first, and refunds it after any other response. Defaults to all.
	Count *Responses `yaml:"count"`
	// OnFailure is the failure mode of this limit. Defaults to the policy's.
	OnFailure OnFailure `yaml:"on_failure"`
	// Shadow makes this a shadow limit, which counts and logs, and never refuses. Defaults to false.
	Shadow bool `yaml:"shadow"`
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

// EndpointCost is the charge of an endpoint's requests to the policy's budgets.
type EndpointCost struct {
	// Estimate is the money that a request reserves unless its caller gives an amount, at most 1000000000 and at most each budget.
	// Defaults to 0.
	Estimate Micros `yaml:"estimate" policy:"0..1000000000"`
	// Units holds the same for at most 4 other units than money, by their names: whole numbers, at most 1000000000000. Defaults to 0 of
	// each.
	Units map[string]int64 `yaml:"units" policy:"items=0..4,is=name,0..1000000000000"`
	// Hold is how long the estimate counts without a settlement, 1ms to 3650d. Defaults to each budget's window or period.
	Hold time.Duration `yaml:"hold" policy:"1ms..3650d"`
	// Penalty is how long guard refuses a subject whose settlement exceeded a budget, 1ms to 3650d. Defaults to none.
	Penalty time.Duration `yaml:"penalty" policy:"1ms..3650d"`
}

// A Budget is the amount that a subject may spend in a window or in a period of the calendar. guard reserves an estimate when it admits a request; the
// service settles the real cost. Each budget counts for itself, by its name.
type Budget struct {
	// Name is unique among the limits and budgets of the whole policy: 1 to 32 of A-Z a-z 0-9 _ -, and no digit first. Required.
	Name string `yaml:"name" policy:"required,is=name"`
	// By is the identity that has the budget, or a list of at most 4, as for a limit; all is a budget of all requests together. A request
	// that lacks an identity is not charged to it. Defaults to client.
	By By `yaml:"by" policy:"items=0..4,is=identity,default=client"`
	// Unit is what is budgeted, such as tokens: 1 to 32 of A-Z a-z 0-9 _ -, and no digit first. Defaults to money.
	Unit string `yaml:"unit" policy:"is=name"`
	// Budget is the amount, 0.000001 to 1000000000 of any currency, or 1 to 1000000000000 of another unit. A mapping gives
	// plans their own: {default: 5, pro: 50}. Required.
	Budget Micros `yaml:"budget" policy:"plans,required,0.000001..1000000000000"`
	// Window is the length of a window that slides, 1ms to 3650d. Required unless the budget has periods.
	Window time.Duration `yaml:"window" policy:"1ms..3650d"`
	// Every is the length of a period: hour, day, week, month or year. What is reserved in a period belongs to it, even if it is settled
	// later. Required unless the budget has a window.
	Every Every `yaml:"every"`
	// Zone is the time zone of the periods, as of a quota. Defaults to UTC.
	Zone string `yaml:"zone"`
	// Starts is when the periods start, as of a quota. Defaults to midnight, Monday, the 1st and 01-01.
	Starts Starts `yaml:"starts"`
	// Warn is the part of the budget from which an admitted request reports a warning, above 0 and below 1. Defaults to none.
	Warn float64 `yaml:"warn" policy:"is=warn"`
	// OnFailure is the failure mode of this budget. Defaults to the policy's.
	OnFailure OnFailure `yaml:"on_failure"`
}

// A Block blocks a subject after too many attempts, at the endpoints that name it.
type Block struct {
	// Name is unique among the blocks: 1 to 32 of A-Z a-z 0-9 _ -. Required.
	Name string `yaml:"name" policy:"required,is=name"`
	// By is the identity that is blocked, or a list of at most 4, as for a limit; not all. Defaults to client.
	By By `yaml:"by" policy:"items=0..4,is=identity,default=client"`
	// Attempts are the requests that count: all, or those that something else refuses. Defaults to refused.
	Attempts Count `yaml:"attempts" policy:"default=refused"`
	// Tiers are 1 to 8 thresholds that start a block. Required.
	Tiers []Tier `yaml:"tiers" policy:"required,items=1..8"`
	// Escalation is how long the first, second, ... block within the strike memory lasts, each 1ms to 3650d, at most 8. The last one
	// repeats. Defaults to none: each block lasts as long as its tier says.
	Escalation []time.Duration `yaml:"escalation" policy:"items=0..8,1ms..3650d"`
	// StrikeMemory is how long a block counts for the escalation, from its start, 1ms to 3650d. Defaults to 30d.
	StrikeMemory time.Duration `yaml:"strike_memory" policy:"1ms..3650d"`
	// OnFailure is the failure mode of blocks and attempts. Defaults to the policy's.
	OnFailure OnFailure `yaml:"on_failure"`
}

// A Tier starts a block when a subject reaches a number of attempts in a window.
type Tier struct {
	// Threshold is the number of the attempt that guard refuses and that starts the block, 1 to 10000. Required.
	Threshold int64 `yaml:"threshold" policy:"required,1..10000"`
	// Window is the time in which attempts count, 1ms to 3650d. Required.
	Window time.Duration `yaml:"window" policy:"required,1ms..3650d"`
	// Block is how long the block lasts, 1ms to 3650d. Required.
	Block time.Duration `yaml:"block" policy:"required,1ms..3650d"`
}

// Challenge is a one-time token. Exactly one request consumes it. While Redis does not answer, the endpoint is closed unless the policy's on_failure is open,
// because a process alone cannot know whether a challenge was consumed.
type Challenge struct {
	// By is the identity that the challenge is issued for, or a list of at most 4, as for a limit; not all. Defaults to client.
	By By `yaml:"by" policy:"items=0..4,is=identity,default=client"`
	// Required refuses requests without a challenge. Defaults to false: a request may omit it, but a challenge that it carries must be
	// valid.
	Required bool `yaml:"required"`
	// TTL is how long a challenge can be consumed after its issue, 1ms to 3650d. Defaults to 5m.
	TTL time.Duration `yaml:"ttl" policy:"1ms..3650d,default=5m"`
	// Header is the name of the header with the challenge. Defaults to X-Challenge.
	Header string `yaml:"header" policy:"is=header,default=X-Challenge"`
}

// Responses selects the responses that a limit counts, by HTTP status, gRPC code or both.
type Responses struct {
	// Status holds HTTP statuses, each 100 to 599, at most 64. Defaults to none.
	Status []int `yaml:"status" policy:"items=0..64,100..599"`
	// Code holds names of gRPC status codes such as Unauthenticated, at most 17. Defaults to none.
	Code []StatusCode `yaml:"code" policy:"items=0..17"`
}

// Prefetch takes several tokens of a gcra, fixed_window or quota by all in one call, and hands them out in the process.
type Prefetch struct {
	// Most is the number of tokens that one call takes at most, 2 to 10000, and no more than the limit admits at once. Required.
	Most int64 `yaml:"most" policy:"required,2..10000"`
	// For bounds how long a process uses tokens, and by how much a gcra may admit too many, 1ms to 10s. Defaults to 100ms.
	For time.Duration `yaml:"for" policy:"1ms..10s,default=100ms"`
}

// Idempotency is the source of a request's own ID: a header or a fingerprint. guard does not count a repeat: a request with the ID
// and method of an earlier one, by the same client to the same endpoint. A repeat that costs more pays the rest, and each holds a place of its own.
type Idempotency struct {
	// Header is the name of the header with the ID, which is not that of an identity. Any client can use it to repeat a request for free.
	// Required of an endpoint with match, unless fingerprint is true; code names it in others.
	Header string `yaml:"header" policy:"is=header"`
	// Fingerprint makes a verified fingerprint the ID, on an endpoint that requires the challenge in it. Defaults to false.
	Fingerprint bool `yaml:"fingerprint"`
	// For is how long guard knows an ID, 1ms to 3650d. Defaults to 10m.
	For time.Duration `yaml:"for" policy:"1ms..3650d,default=10m"`
	// Repeats is the number of repeats of an ID that pass uncounted, 0 to 8; one more is a new request. Defaults to 1.
	Repeats *int64 `yaml:"repeats" policy:"0..8,default=1"`
}
