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

// Certificate is a part of a client certificate.
type Certificate string

// The parts of a client certificate.
const (
	CertificateSHA256     Certificate = "sha256"      // its digest
	CertificateCommonName Certificate = "common_name" // of its subject
	CertificateDNS        Certificate = "dns"         // its first DNS name
	CertificateURI        Certificate = "uri"         // its first URI, as SPIFFE has one
)

// Case says whether upper and lower case differ.
type Case string

// Whether upper and lower case differ.
const (
	CaseExact Case = "exact" // they do
	CaseFold  Case = "fold"  // they do not
)

// Unmatched is what becomes of a request that no endpoint matches.
type Unmatched string

// What becomes of a request that no endpoint matches.
const (
	UnmatchedPass   Unmatched = "pass"   // it is not guarded
	UnmatchedRefuse Unmatched = "refuse" // it is refused with 404
)

// StatusCode is a status code of gRPC by its name.
type StatusCode string

// statusCodes are the status codes of gRPC.
var statusCodes = []string{
	"OK", "Canceled", "Unknown", "InvalidArgument", "DeadlineExceeded", "NotFound", "AlreadyExists", "PermissionDenied", "ResourceExhausted",
	"FailedPrecondition", "Aborted", "OutOfRange", "Unimplemented", "Internal", "Unavailable", "DataLoss", "Unauthenticated",
}

// An enum is a type with few values. An absent value is "".
type enum interface{ values() []string }

func (Kind) values() []string {
	return []string{string(SlidingLog), string(SlidingCounter), string(FixedWindow), string(GCRA)}
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
