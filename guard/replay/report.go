package replay

import (
	"fmt"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/guard/replay/accesslog"
)

// A Report is what a policy would have done to a log.
type Report struct {
	Form   int    `json:"format_version"`   // 1
	Log    string `json:"log,omitempty"`    // for whoever reads it: the file
	Policy string `json:"policy,omitempty"` // likewise
	Format string `json:"log_format"`

	Lines      int64           `json:"lines"`      // without blank ones
	Unreadable int64           `json:"unreadable"` // lines that are not decided, and why the first of them are not
	Bad        []accesslog.Bad `json:"unreadable_lines"`
	Unmatched  int64           `json:"unmatched"`    // lines for no endpoint of the policy
	Disordered int64           `json:"out_of_order"` // lines that were decided at the time of a later one before them
	Limited    int64           `json:"status_429"`   // lines that the service itself has refused so

	First time.Time `json:"first"` // of the lines that were decided
	Last  time.Time `json:"last"`

	Requests   int64 `json:"requests"` // that were decided: allowed and refused
	Allowed    int64 `json:"allowed"`
	Refused    int64 `json:"refused"`
	Duplicates int64 `json:"duplicates"` // allowed, as their ID was known

	Reasons   []ReasonCount   `json:"reasons"` // most first
	Endpoints []EndpointCount `json:"endpoints"`
	Limits    []Limit         `json:"limits"`
	Subjects  int64           `json:"subjects"`         // that came
	Hit       int64           `json:"subjects_refused"` // of which something was refused
	Top       []SubjectCount  `json:"top_subjects"`     // that were refused most, 50 at most
	Bucket    float64         `json:"bucket_seconds"`   // how long one of Buckets is
	Buckets   []Bucket        `json:"buckets"`
	Blocks    int64           `json:"blocks"` // that would have started; the first 1000
	BlockList []Block         `json:"block_list"`
	LeftOut   []LeftOut       `json:"left_out"` // of the policy, as the log does not say whom it counts
	Notes     []string        `json:"notes"`    // what these numbers do not show
}

// A Reason is why a request is refused, named as package guard does.
type Reason string

// The reasons.
const (
	ReasonNone     Reason = ""
	ReasonDenied   Reason = "denied"    // the policy's overrides deny the subject
	ReasonBlocked  Reason = "blocked"   // a block holds
	ReasonAttempts Reason = "attempts"  // this attempt starts a block
	ReasonLimit    Reason = "limit"     // a limit of the subject
	ReasonGlobal   Reason = "global"    // a global limit
	ReasonBudget   Reason = "budget"    // a budget of the subject
	ReasonTooLarge Reason = "too_large" // the estimate is more than a budget
)

// A ReasonCount is how many requests a reason refuses.
type ReasonCount struct {
	Reason  Reason `json:"reason"`
	Refused int64  `json:"refused"`
}

// An EndpointCount is what became of an endpoint's requests.
type EndpointCount struct {
	Name     string `json:"name"`
	Requests int64  `json:"requests"`
	Allowed  int64  `json:"allowed"`
	Refused  int64  `json:"refused"`
}

// A Limit is one limit or budget, with how much it refuses.
type Limit struct {
	Endpoint string  `json:"endpoint,omitempty"` // none: of all
	Name     string  `json:"name"`
	Kind     string  `json:"kind"` // sliding_log, ..., or budget
	Limit    string  `json:"limit"`
	Window   float64 `json:"window_seconds"`
	Global   bool    `json:"global,omitempty"`
	Shadow   bool    `json:"shadow,omitempty"`
	Refused  int64   `json:"refused"` // requests that it refuses, perhaps among others; of a shadow limit those that it alone would
	Alone    int64   `json:"alone"`   // requests that nothing else refuses
}

// Title names a limit as the policy does: chat/minute.
func (l *Limit) Title() string { return policy.WireName(l.Endpoint, l.Name) }

// LeftOut is a limit, or cost or abuse, that is by an identity that the lines of a log do not count for.
type LeftOut struct {
	Name string    `json:"name"` // chat/minute, cost, abuse
	By   policy.By `json:"by"`
}

// A SubjectCount is what became of a subject's requests.
type SubjectCount struct {
	Subject  string    `json:"subject"`
	Requests int64     `json:"requests"`
	Refused  int64     `json:"refused"`
	First    time.Time `json:"first_refused"`
	Last     time.Time `json:"last_refused"`
	Reason   Reason    `json:"reason"` // of the last
}

// A Bucket is what became of the requests in a part of the time.
type Bucket struct {
	Start   time.Time `json:"start"`
	Allowed int64     `json:"allowed"`
	Refused int64     `json:"refused"`
}

// A Block is one that would have started.
type Block struct {
	Time     time.Time `json:"time"`
	Subject  string    `json:"subject"`
	Endpoint string    `json:"endpoint"`
	Tier     int       `json:"tier"`    // from 1
	Strikes  int       `json:"strikes"` // blocks of the subject that are remembered, with this one
	Seconds  float64   `json:"seconds"`
}

// An UnreadableError is a log of which no line could be read; it is ErrNothing.
type UnreadableError struct {
	Lines int64
	Bad   []accesslog.Bad // the first of them
}

func (e *UnreadableError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "none of %d lines could be read", e.Lines)
	for _, bad := range e.Bad {
		fmt.Fprintf(&b, "\n  %s", bad)
	}
	return b.String()
}

// Is makes errors.Is(err, ErrNothing) true.
func (e *UnreadableError) Is(target error) bool { return target == ErrNothing }

func seconds(d time.Duration) float64 { return d.Seconds() }
