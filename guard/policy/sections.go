package policy

import "time"

// Cost are a subject's budgets: an estimate is reserved when a request is admitted, and settled by what it really cost. There is one
// account a subject, over all endpoints that charge it.
type Cost struct {
	// Budgets are decided together: the estimate fits all, or nothing is reserved. 1 to 16. Required.
	Budgets []Budget `yaml:"budgets" policy:"required,items=1..16"`
	// Hold is how long an estimate counts that nobody settles, 1us to 3650d. Defaults to each budget's window.
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

// Abuse bans a subject that asks too often. Blocks and attempts are the subject's, over all endpoints of the policy.
type Abuse struct {
	// Tiers are what is too often, 1 to 8. Required.
	Tiers []Tier `yaml:"tiers" policy:"required,items=1..8"`
	// Escalation is how long the first, second, ... block within the strike memory lasts in place of the tier's, each
	// 1ms to 3650d, at most 8; the last repeats. Defaults to none: each block is the tier's.
	Escalation []time.Duration `yaml:"escalation" policy:"items=0..8,1ms..3650d"`
	// StrikeMemory is how long a block is remembered, from its beginning, 1ms to 3650d. Defaults to 30d.
	StrikeMemory time.Duration `yaml:"strike_memory" policy:"1ms..3650d"`
	// OnFailure is what becomes of blocks and attempts without Redis. Defaults to the policy's.
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

// Identity says who a request is. Package identity does as it says.
type Identity struct {
	// From are the sources in the order in which they are asked; the first that a request has names its subject.
	// Defaults to ip alone.
	From []Source `yaml:"from" policy:"items=0..3"`
	// Fingerprint is a header `fp:<challenge>:<stable hash>`; the subject is fp=<stable hash>.
	Fingerprint Fingerprint `yaml:"fingerprint"`
	// APIKey is a header; the subject is key=<hash of the key>.
	APIKey APIKey `yaml:"api_key"`
	// IP is the client's address; the subject is ip=<address, or prefix of an IPv6 address>.
	IP IP `yaml:"ip"`
}

// Fingerprint configures the source fingerprint.
type Fingerprint struct {
	// Header brings it. Defaults to X-Fingerprint.
	Header string `yaml:"header" policy:"is=header"`
	// Verify says whether a fingerprint must be signed; the keys are given in Go. Defaults to none.
	Verify Verify `yaml:"verify"`
}

// APIKey configures the source api_key.
type APIKey struct {
	// Header brings it. Defaults to X-API-Key.
	Header string `yaml:"header" policy:"is=header"`
	// Plain makes the subject key=<key>, readable in Redis and in logs: for keys that are no secret. Defaults to false,
	// where it is key=<first 128 bits of the key's SHA-256 in hexadecimal>.
	Plain bool `yaml:"plain"`
}

// IP configures the source ip.
type IP struct {
	// TrustedProxies are the addresses or prefixes of the proxies whose header is believed, at most 1024. Defaults to
	// none: the peer is the client.
	TrustedProxies []string `yaml:"trusted_proxies" policy:"items=0..1024,is=prefix"`
	// IPv6Prefix is how many bits of an IPv6 address are one client, 1 to 128. Defaults to 64.
	IPv6Prefix int `yaml:"ipv6_prefix" policy:"1..128"`
	// Header is where proxies add whom they heard: X-Forwarded-For, Forwarded (RFC 7239), or another of the first's
	// form. Defaults to X-Forwarded-For.
	Header string `yaml:"header" policy:"is=header"`
}

// Overrides are exceptions for single subjects: text as identity makes it, "key=ab12", or "ip=" and a prefix. An exact
// subject wins over a prefix, a longer prefix over a shorter one.
type Overrides struct {
	// Allow are subjects that are never limited. Defaults to none.
	Allow []string `yaml:"allow" policy:"items=0..100000,is=subject"`
	// Deny are subjects that are always refused, without a round trip. Defaults to none.
	Deny []string `yaml:"deny" policy:"items=0..100000,is=subject"`
	// Multiply is how many times each limit and budget a subject has, 1 to 1000000. Defaults to once.
	Multiply map[string]int64 `yaml:"multiply" policy:"items=0..100000,is=subject,1..1000000"`
}
