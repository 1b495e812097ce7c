package replay

import (
	"fmt"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/agreed"
)

// A Report holds the decisions of a policy on a log, as counts.
type Report struct {
	Form   int    `json:"format"`           // 1
	Log    string `json:"log,omitempty"`    // name of the log, set by the caller
	Policy string `json:"policy,omitempty"` // name of the policy, set by the caller

	Lines      int64 `json:"lines"`            // non-blank lines
	Unreadable int64 `json:"unreadable"`       // lines that are not decided
	Bad        []Bad `json:"unreadable_lines"` // the first 10 of them
	Exempt     int64 `json:"exempt"`           // lines that the policy exempts
	Unmatched  int64 `json:"unmatched"`        // lines that no endpoint of the policy matches
	Disordered int64 `json:"out_of_order"`     // lines decided at the time of a later one before them
	Limited    int64 `json:"status_429"`       // lines that the service itself answered with 429

	First time.Time `json:"first"` // first decided line
	Last  time.Time `json:"last"`  // last decided line

	Requests   int64 `json:"requests"`   // decided lines, allowed or refused
	Allowed    int64 `json:"allowed"`    // with duplicates
	Refused    int64 `json:"refused"`    // by any reason
	Duplicates int64 `json:"duplicates"` // allowed because of a known ID

	Reasons   []ReasonCount   `json:"reasons"`          // most frequent first
	Endpoints []EndpointCount `json:"endpoints"`        // in the policy's order
	Limits    []Limit         `json:"limits"`           // with budgets
	Subjects  int64           `json:"subjects"`         // number of subjects
	Hit       int64           `json:"subjects_refused"` // number of subjects with a refused request
	Top       []SubjectCount  `json:"top_subjects"`     // up to 50 most refused subjects
	Bucket    float64         `json:"bucket_seconds"`   // length of a bucket
	Buckets   []Bucket        `json:"buckets"`          // in order of time
	Blocks    int64           `json:"blocks"`           // number of started blocks
	BlockList []Block         `json:"block_list"`       // the first 1000 of them
	Complete  bool            `json:"complete"`         // the log told all that guard would have known; if not, the counts and notes say why
	LeftOut   []LeftOut       `json:"left_out"`         // limits that the log does not tell enough about
	Notes     []string        `json:"notes"`            // what the numbers do not show
}

// A ReasonCount is the number of requests refused for a reason.
type ReasonCount struct {
	Reason  guard.Reason `json:"reason"`
	Refused int64        `json:"refused"`
}

// An EndpointCount holds the counts of an endpoint.
type EndpointCount struct {
	Name     string `json:"name"`
	Requests int64  `json:"requests"`
	Allowed  int64  `json:"allowed"`
	Refused  int64  `json:"refused"`
}

// A Limit is a limit or budget with its refusals.
type Limit struct {
	Endpoint string  `json:"endpoint,omitempty"` // "" for all endpoints
	Name     string  `json:"name"`
	Kind     string  `json:"kind"` // sliding_log, ..., or budget
	Limit    string  `json:"limit"`
	Window   float64 `json:"window_seconds"`
	Global   bool    `json:"global,omitempty"`
	Shadow   bool    `json:"shadow,omitempty"`
	Refused  int64   `json:"refused"` // requests that it refuses, or would refuse as the only shadow limit
	Alone    int64   `json:"alone"`   // requests that no other limit refuses
}

// Title returns the limit's name as in refusals: ENDPOINT/LIMIT, or LIMIT for one of the whole policy.
func (l *Limit) Title() string { return agreed.LimitName(l.Endpoint, l.Name) }

// LeftOut is a limit, a budget or a block that the log does not tell enough about.
type LeftOut struct {
	Name string    `json:"name"` // such as chat/minute, day or block login
	By   policy.By `json:"by"`
	Why  string    `json:"why"`
}

// A SubjectCount holds the counts of a subject.
type SubjectCount struct {
	Subject  string       `json:"subject"`
	Requests int64        `json:"requests"`
	Refused  int64        `json:"refused"`
	First    time.Time    `json:"first_refused"`
	Last     time.Time    `json:"last_refused"`
	Reason   guard.Reason `json:"reason"` // of the last refusal
}

// A Bucket holds the counts of a part of the time.
type Bucket struct {
	Start   time.Time `json:"start"`
	Allowed int64     `json:"allowed"`
	Refused int64     `json:"refused"`
}

// A Block is a block that the policy would have started.
type Block struct {
	Time     time.Time `json:"time"`
	Subject  string    `json:"subject"`
	Endpoint string    `json:"endpoint"`
	Tier     int       `json:"tier"`    // from 1
	Strikes  int       `json:"strikes"` // the subject's blocks within the strike memory, with this one
	Seconds  float64   `json:"seconds"`
}

// An UnreadableError means that no line of a log could be read. It matches ErrNothing.
type UnreadableError struct {
	Lines int64
	Bad   []Bad // the first 10
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
