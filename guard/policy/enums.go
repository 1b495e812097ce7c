package policy

import "github.com/rlfunc/rlfunc/calendar"

// Kind is the algorithm of a limit: a function of library ratelimit.
type Kind string

// The kinds of a limit.
const (
	SlidingLog     Kind = "sliding_log"
	SlidingCounter Kind = "sliding_counter"
	FixedWindow    Kind = "fixed_window"
	GCRA           Kind = "gcra"
	Quota          Kind = "quota"
	Concurrency    Kind = "concurrency" // requests at the same time, as library concurrency counts holders
)

// Every is the length of a quota's period.
type Every string

// The lengths of periods.
const (
	Hour  = Every(calendar.Hour)
	Day   = Every(calendar.Day)
	Week  = Every(calendar.Week)
	Month = Every(calendar.Month)
	Year  = Every(calendar.Year)
)

// Starts is when the periods of a quota start, as package calendar reads it. A file may write a day of the month as a number.
type Starts string

// OnFailure is the failure mode of a limit: how it decides when Redis does not answer in time.
type OnFailure string

// The failure modes.
const (
	Open   OnFailure = "open"   // allow the request
	Closed OnFailure = "closed" // fail the request with an error, which is not a refusal
	Local  OnFailure = "local"  // decide in this process, by a share of the limit
)

// Count selects the requests that are attempts.
type Count string

// The requests that are attempts.
const (
	CountAll     Count = "all"     // all but blocked requests and repeats
	CountRefused Count = "refused" // those that a limit, budget or challenge refuses
)

// Payload is what a challenge is bound to.
type Payload string

// The payloads of a challenge.
const (
	PayloadNone Payload = "none" // nothing: it is valid for any request
	PayloadPath Payload = "path" // the path of the request's URL
)

// Certificate is a part of a client certificate.
type Certificate string

// The parts of a client certificate.
const (
	CertificateSHA256     Certificate = "sha256"      // digest of the certificate
	CertificateCommonName Certificate = "common_name" // common name of the certificate's subject
	CertificateDNS        Certificate = "dns"         // first DNS name
	CertificateURI        Certificate = "uri"         // first URI, such as a SPIFFE ID
)

// Case is how upper and lower case compare.
type Case string

// The ways to compare upper and lower case.
const (
	CaseExact Case = "exact" // /V1 and /v1 differ
	CaseFold  Case = "fold"  // /V1 and /v1 are the same
)

// Unmatched is how guard handles requests that no endpoint matches.
type Unmatched string

// The ways to handle requests that no endpoint matches.
const (
	UnmatchedPass   Unmatched = "pass"   // pass without limits
	UnmatchedRefuse Unmatched = "refuse" // refuse with 404
)

// StatusCode is the name of a gRPC status code.
type StatusCode string

var statusCodes = []string{
	"OK", "Canceled", "Unknown", "InvalidArgument", "DeadlineExceeded", "NotFound", "AlreadyExists", "PermissionDenied", "ResourceExhausted",
	"FailedPrecondition", "Aborted", "OutOfRange", "Unimplemented", "Internal", "Unavailable", "DataLoss", "Unauthenticated",
}

// An enum is a string type with few values; "" means omitted.
type enum interface{ values() []string }

func (Kind) values() []string {
	return []string{string(SlidingLog), string(SlidingCounter), string(FixedWindow), string(GCRA), string(Quota), string(Concurrency)}
}

func (Every) values() []string {
	return []string{string(Hour), string(Day), string(Week), string(Month), string(Year)}
}
func (OnFailure) values() []string { return []string{string(Open), string(Closed), string(Local)} }
func (Count) values() []string     { return []string{string(CountAll), string(CountRefused)} }
func (Payload) values() []string   { return []string{string(PayloadNone), string(PayloadPath)} }
func (Certificate) values() []string {
	return []string{string(CertificateSHA256), string(CertificateCommonName), string(CertificateDNS), string(CertificateURI)}
}
func (Case) values() []string       { return []string{string(CaseExact), string(CaseFold)} }
func (Unmatched) values() []string  { return []string{string(UnmatchedPass), string(UnmatchedRefuse)} }
func (StatusCode) values() []string { return statusCodes }
