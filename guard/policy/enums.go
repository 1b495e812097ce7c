package policy

import (
	"reflect"

	"github.com/rlfunc/rlfunc/fcall/calendar"
	"github.com/rlfunc/rlfunc/guard/identity"
)

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
type Every = calendar.Every

// The lengths of periods.
const (
	Hour  = calendar.Hour
	Day   = calendar.Day
	Week  = calendar.Week
	Month = calendar.Month
	Year  = calendar.Year
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

// Paths is what becomes of a path with an empty segment or a dot segment.
type Paths string

// The ways to handle a path with an empty segment or a dot segment.
const (
	PathsRefuse Paths = "refuse" // refuse with 400
	PathsClean  Paths = "clean"  // count the path without them
)

// Escapes is what becomes of a path with an escaped slash.
type Escapes string

// The ways to handle a path with an escaped slash.
const (
	EscapesRefuse Escapes = "refuse" // refuse with 400
	EscapesKeep   Escapes = "keep"   // count it as a part of its segment
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

// enums holds the values of each type that has few; "" means omitted.
var enums = map[reflect.Type][]string{
	reflect.TypeFor[Kind]():      texts(SlidingLog, SlidingCounter, FixedWindow, GCRA, Quota, Concurrency),
	reflect.TypeFor[Every]():     texts(Hour, Day, Week, Month, Year),
	reflect.TypeFor[OnFailure](): texts(Open, Closed, Local),
	reflect.TypeFor[Count]():     texts(CountAll, CountRefused),
	reflect.TypeFor[Paths]():     texts(PathsRefuse, PathsClean),
	reflect.TypeFor[Escapes]():   texts(EscapesRefuse, EscapesKeep),
	reflect.TypeFor[Unmatched](): texts(UnmatchedPass, UnmatchedRefuse),
	reflect.TypeFor[identity.CertificatePart](): texts(
		identity.CertificateSHA256, identity.CertificateCommonName, identity.CertificateDNS, identity.CertificateURI),
	reflect.TypeFor[identity.Fold](): texts(
		identity.FoldNFC, identity.FoldEmail, identity.FoldCase),
	reflect.TypeFor[StatusCode](): {
		"OK", "Canceled", "Unknown", "InvalidArgument", "DeadlineExceeded", "NotFound", "AlreadyExists", "PermissionDenied", "ResourceExhausted",
		"FailedPrecondition", "Aborted", "OutOfRange", "Unimplemented", "Internal", "Unavailable", "DataLoss", "Unauthenticated",
	},
}

func texts[T ~string](values ...T) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = string(v)
	}
	return all
}
