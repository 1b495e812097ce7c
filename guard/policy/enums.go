package policy

// Kind is how a limit counts, as the functions of library ratelimit do.
type Kind string

// The kinds of a limit.
const (
	SlidingLog     Kind = "sliding_log"
	SlidingCounter Kind = "sliding_counter"
	FixedWindow    Kind = "fixed_window"
	GCRA           Kind = "gcra"
)

// OnFailure is what a limit does when Redis does not answer in time.
type OnFailure string

// What a limit does without Redis.
const (
	Open   OnFailure = "open"   // it allows
	Closed OnFailure = "closed" // it fails the request, with an error that is no refusal
	Local  OnFailure = "local"  // this process decides alone, by a share of the limit
)

// Count says which requests are attempts.
type Count string

// Which requests are attempts.
const (
	CountAll     Count = "all"     // every one that is not blocked and no duplicate
	CountRefused Count = "refused" // those that something else refuses
)

// Payload is what a challenge is good for.
type Payload string

// What a challenge is good for.
const (
	PayloadNone Payload = "none" // anything
	PayloadPath Payload = "path" // the path of the request's URL
)

// Source is where an identity comes from.
type Source string

// Where an identity comes from.
const (
	FromFingerprint Source = "fingerprint"
	FromAPIKey      Source = "api_key"
	FromIP          Source = "ip"
)

// Verify says how a fingerprint is verified.
type Verify string

// How a fingerprint is verified.
const (
	VerifyNone Verify = "none" // not at all: whoever sends it is believed
	VerifyHMAC Verify = "hmac" // by its signature; one without a good one is no fingerprint
)

// An enum is a type with few values. An absent value is "".
type enum interface{ values() []string }

func (Kind) values() []string {
	return []string{string(SlidingLog), string(SlidingCounter), string(FixedWindow), string(GCRA)}
}
func (OnFailure) values() []string { return []string{string(Open), string(Closed), string(Local)} }
func (Count) values() []string     { return []string{string(CountAll), string(CountRefused)} }
func (Payload) values() []string   { return []string{string(PayloadNone), string(PayloadPath)} }
func (Source) values() []string {
	return []string{string(FromFingerprint), string(FromAPIKey), string(FromIP)}
}
func (Verify) values() []string { return []string{string(VerifyNone), string(VerifyHMAC)} }
