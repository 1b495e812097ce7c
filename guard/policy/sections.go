package policy

import "time"

// Cost are a subject's budgets: an estimate is reserved when a request is admitted, and settled by what it really cost. There is one
// account a subject, over all endpoints that charge it.
type Cost struct {
	// By is whose budgets they are, as of a limit, but not all. Defaults to client.
	By By `yaml:"by" policy:"items=0..4,is=identity"`
	// Budgets are decided together: the estimate fits all, or nothing is reserved. 1 to 16. Required.
	Budgets []Budget `yaml:"budgets" policy:"required,items=1..16"`
	// Hold is how long an estimate counts without a settlement, 1us to 3650d. Defaults to each budget's window.
	Hold time.Duration `yaml:"hold" policy:"1us..3650d"`
	// Penalty is how long a subject that has exceeded a budget is refused, 1us to 3650d. Defaults to none.
	Penalty time.Duration `yaml:"penalty" policy:"1us..3650d"`
	// OnFailure is what the budgets do without Redis. Defaults to the policy's.
	OnFailure OnFailure `yaml:"on_failure"`
}

// EndpointCost is what a request for an endpoint charges to the policy's budgets.
type EndpointCost struct {
	// Estimate is what a request reserves unless its caller knows better, at most 1000000000 and at most each budget.
	// Defaults to 0.
	Estimate Micros `yaml:"estimate" policy:"0..1000000000"`
}

// A Budget is how much money a subject may spend in a window.
type Budget struct {
	// Name is 1 to 32 of A-Z a-z 0-9 _ -, and stands for one of the policy's limits and budgets. Required.
	Name string `yaml:"name" policy:"required,is=name"`
	// Budget is in units of any currency, 0.000001 to 1000000000. Required.
	Budget Micros `yaml:"budget" policy:"required,0.000001..1000000000"`
	// Window is 1us to 3650d. Required.
	Window time.Duration `yaml:"window" policy:"required,1us..3650d"`
}

// Abuse blocks a subject that asks too often. Blocks and attempts are the subject's, over all endpoints of the policy.
type Abuse struct {
	// By is whose attempts are counted, the name of one identity. Defaults to client.
	By By `yaml:"by" policy:"items=0..1,is=identity"`
	// Tiers are what is too often, 1 to 8. Required.
	Tiers []Tier `yaml:"tiers" policy:"required,items=1..8"`
	// Escalation is how long the first, second, ... block within the strike memory lasts in place of the tier's, each
	// 1ms to 3650d, at most 8; the last repeats. Defaults to none: each block is the tier's.
	Escalation []time.Duration `yaml:"escalation" policy:"items=0..8,1ms..3650d"`
	// StrikeMemory is how long a block is remembered, from its beginning, 1ms to 3650d. Defaults to 30d.
	StrikeMemory time.Duration `yaml:"strike_memory" policy:"1ms..3650d"`
	// OnFailure is what blocks and attempts do without Redis. Defaults to the policy's.
	OnFailure OnFailure `yaml:"on_failure"`
}

// A Tier blocks a subject at its threshold-th attempt in a window.
type Tier struct {
	// Threshold is the attempt that is refused and starts the block, 1 to 10000. Required.
	Threshold int64 `yaml:"threshold" policy:"required,1..10000"`
	// Window is 1us to 3650d. Required.
	Window time.Duration `yaml:"window" policy:"required,1us..3650d"`
	// Block is how long the block lasts, 1ms to 3650d. Required.
	Block time.Duration `yaml:"block" policy:"required,1ms..3650d"`
}

// Challenge is a one-time token: a request that brings it consumes it, and exactly one does.
type Challenge struct {
	// By is whom it was issued for, as of a limit, but not all. Defaults to client.
	By By `yaml:"by" policy:"items=0..4,is=identity"`
	// Required refuses a request that brings none. Defaults to false: one that is brought must be good.
	Required bool `yaml:"required"`
	// TTL is how long one can be consumed after its issue, 1us to 3650d. Defaults to 5m.
	TTL time.Duration `yaml:"ttl" policy:"1us..3650d"`
	// Header brings it. Defaults to X-Challenge.
	Header string `yaml:"header" policy:"is=header"`
	// Payload is what it is good for. Defaults to none: for anything.
	Payload Payload `yaml:"payload"`
	// OnFailure is open or closed: no process can tell alone whether a challenge was used. Defaults to the policy's, and
	// to closed where that is local.
	OnFailure OnFailure `yaml:"on_failure" policy:"not=local"`
}

// Responses are those that a limit counts: of HTTP by status, of gRPC by code. At least one is given.
type Responses struct {
	// Status has the statuses of HTTP that count, each 100 to 599, at most 64. Defaults to none.
	Status []int `yaml:"status" policy:"items=0..64,100..599"`
	// Code has the status codes of gRPC that count, such as Unauthenticated, at most 17. Defaults to none.
	Code []StatusCode `yaml:"code" policy:"items=0..17"`
}

// Paths says how paths are compared with patterns.
type Paths struct {
	// Case is exact or fold, which is for routers that take /V1/Chat for /v1/chat. Defaults to exact.
	Case Case `yaml:"case"`
}

// Idempotency is where a request's own ID comes from: a header, or a fingerprint. A repeat with the same ID and method, of the same client
// to the same endpoint, is not counted.
type Idempotency struct {
	// Header brings the ID. Any client may repeat a request for nothing with it. Required unless Fingerprint is true.
	Header string `yaml:"header" policy:"is=header"`
	// Fingerprint makes a verified fingerprint the ID, on an endpoint that requires the challenge in it. Defaults to false.
	Fingerprint bool `yaml:"fingerprint"`
	// For is how long an ID is known, 1us to 3650d. Defaults to 10m.
	For time.Duration `yaml:"for" policy:"1us..3650d"`
	// Repeats is how many repeats of an ID pass without being counted, 0 to 8; one more is a new request. Defaults to 1.
	Repeats *int64 `yaml:"repeats" policy:"0..8"`
}

// Overrides are exceptions for single subjects: text as identity makes it, "key=ab12", or "ip=" and a prefix. An exact
// subject wins over a prefix, a longer prefix over a shorter one.
type Overrides struct {
	// Allow are subjects of verified identities that are never limited. Defaults to none.
	Allow []string `yaml:"allow" policy:"items=0..100000,is=subject"`
	// Deny are subjects that are always refused, without a round trip. Defaults to none.
	Deny []string `yaml:"deny" policy:"items=0..100000,is=subject"`
	// Multiply is how many times each limit and budget a subject of a verified identity has, 1 to 1000000. Defaults to once.
	Multiply map[string]int64 `yaml:"multiply" policy:"items=0..100000,is=subject,1..1000000"`
}
