// Package inspect reads the state of a guarded subject from Redis, and prints it as JSON or text.
//
// In JSON, durations are seconds, times are RFC 3339, and money is in units of the policy's currency. Reading takes several round trips
// of read-only functions, so a report may mix states if the subject makes requests meanwhile.
package inspect

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/fcall/calendar"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/agreed"
)

// A Report is the state of a subject.
type Report struct {
	Format     int         `json:"format"`
	Subject    string      `json:"subject"`
	Namespace  string      `json:"namespace"`
	Now        time.Time   `json:"now"` // by the server's clock
	Known      bool        `json:"known"`
	Refused    bool        `json:"refused"` // whether this state refuses every request
	Override   *Override   `json:"override,omitempty"`
	Block      *Block      `json:"block,omitempty"` // by an operator: it holds at every endpoint
	Limits     []Limit     `json:"limits"`
	Budgets    []Budget    `json:"budgets"`
	Penalty    Seconds     `json:"penalty"` // how long reservations are refused because a budget was exceeded; 0 for none
	Blocks     []Attempts  `json:"blocks"`  // of the policy, that count this subject
	Challenges []Challenge `json:"challenges"`
}

// An Override merges the overrides of the subject, or of the identities that it combines.
type Override struct {
	Allow    bool  `json:"allow"`
	Deny     bool  `json:"deny"`
	Multiply int64 `json:"multiply"`
	Runtime  bool  `json:"runtime"` // whether an override set at run time applies, see rlfunc override list
}

// A Block is a block in effect.
type Block struct {
	Tier       int64     `json:"tier"` // 0 if an operator set it
	Reason     string    `json:"reason,omitempty"`
	RetryAfter Seconds   `json:"retry_after"`
	Until      time.Time `json:"until"`
}

// A Limit is one limit and its remaining capacity.
type Limit struct {
	Endpoint   string      `json:"endpoint,omitempty"` // "" if it applies to every endpoint
	Name       string      `json:"name"`
	By         policy.By   `json:"by"` // identities whose requests it counts together
	Global     bool        `json:"global"`
	Kind       policy.Kind `json:"kind"`
	Limit      int64       `json:"limit"`
	Window     Seconds     `json:"window"`          // 0 for a concurrency
	Lease      Seconds     `json:"lease,omitempty"` // of a concurrency
	Burst      int64       `json:"burst,omitempty"`
	Every      string      `json:"every,omitempty"` // of a quota, as the zone
	Zone       string      `json:"zone,omitempty"`
	Cost       int64       `json:"cost"`
	Shadow     bool        `json:"shadow"`
	Used       int64       `json:"used"`
	Remaining  int64       `json:"remaining"`
	Allowed    bool        `json:"allowed"` // whether a request of that cost would pass it
	RetryAfter Seconds     `json:"retry_after"`
	AdmitsAt   *time.Time  `json:"admits_at,omitempty"` // when it admits again
	ResetAfter Seconds     `json:"reset_after"`

	period calendar.Boundaries // of a quota
}

func (l *Limit) path() string { return agreed.LimitName(l.Endpoint, l.Name) }

// most returns the most requests that the limit admits at once.
func (l *Limit) most() int64 {
	if l.Kind == policy.GCRA {
		return l.Burst
	}
	return l.Limit
}

// A Budget is one budget and the amount spent, reserved or settled.
type Budget struct {
	Name       string  `json:"name"`
	Unit       string  `json:"unit,omitempty"`   // "" for money
	Budget     Money   `json:"budget"`           // with the overrides
	TopUp      Money   `json:"top_up,omitempty"` // what an override adds to it
	Window     Seconds `json:"window"`           // of a period, its length
	Every      string  `json:"every,omitempty"`  // of a budget with periods
	Spent      Money   `json:"spent"`
	Remaining  Money   `json:"remaining"`
	Exhausted  bool    `json:"exhausted"` // whether even the smallest amount exceeds it
	RetryAfter Seconds `json:"retry_after"`
	// Refuses lists the endpoints whose estimate, as the policy has it, does not fit.
	Refuses []Estimate `json:"refuses"`
}

// An Estimate is what requests to endpoints reserve, and how long a budget refuses it.
type Estimate struct {
	Endpoints  []string `json:"endpoints"`
	Amount     Money    `json:"amount"`
	RetryAfter Seconds  `json:"retry_after"`
}

// amount returns an amount of the budget with its unit.
func (b *Budget) amount(m Money) string {
	if b.Unit == "" {
		return m.String()
	}
	return m.String() + " " + b.Unit
}

// Attempts are what counts towards one of the policy's blocks.
type Attempts struct {
	Name        string      `json:"name"`            // of the block
	Endpoints   []string    `json:"endpoints"`       // that name it
	Block       *Block      `json:"block,omitempty"` // while it holds
	Tiers       []Tier      `json:"tiers"`
	Attempts    []time.Time `json:"attempts"`
	Strikes     int64       `json:"strikes"` // within the strike memory
	StrikeTimes []time.Time `json:"strike_times"`
}

// A Tier counts attempts towards a block.
type Tier struct {
	Threshold int64   `json:"threshold"`
	Window    Seconds `json:"window"`
	Block     Seconds `json:"block"`
	Count     int64   `json:"count"`
}

// A Challenge is a one-time token. Only its first characters are shown, because the whole token is a credential.
type Challenge struct {
	Token   string    `json:"token"`
	State   string    `json:"state"` // unused, consumed
	Payload string    `json:"payload,omitempty"`
	Issued  time.Time `json:"issued"`
	Expires time.Time `json:"expires"`
}

// Seconds is a duration. In JSON it is a decimal number of seconds.
type Seconds time.Duration

// MarshalJSON returns seconds: 5.987654.
func (s Seconds) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, time.Duration(s).Seconds(), 'f', -1, 64), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Seconds) UnmarshalJSON(text []byte) error {
	var seconds float64
	if err := json.Unmarshal(text, &seconds); err != nil {
		return err
	}
	if most := time.Duration(math.MaxInt64).Seconds(); seconds >= most || seconds <= -most {
		return fmt.Errorf("a duration must be less than %.0f seconds", most)
	}
	*s = Seconds(seconds * float64(time.Second))
	return nil
}

// Money is an amount. In JSON it is decimal text.
type Money fcall.Micros

// MarshalJSON returns decimal text: "0.02".
func (m Money) MarshalJSON() ([]byte, error) { return json.Marshal(m.String()) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (m *Money) UnmarshalJSON(text []byte) error {
	var amount string
	if err := json.Unmarshal(text, &amount); err != nil {
		return err
	}
	micros, err := policy.ParseMicros(amount)
	*m = Money(micros)
	return err
}

func (m Money) String() string { return policy.Micros(m).String() }

// State returns the subject's block and usage as one line for the audit log.
func (rep *Report) State() string {
	var all []string
	until := func(by string, b *Block) {
		all = append(all, fmt.Sprintf("blocked by %s until %s", by, b.Until.UTC().Format("2006-01-02T15:04:05Z")))
	}
	if b := rep.Block; b != nil && b.Reason != "" {
		until("hand ("+b.Reason+")", b)
	} else if b != nil {
		until("hand", b)
	}
	for _, a := range rep.Blocks {
		if a.Block != nil {
			until(a.Name, a.Block)
		}
	}
	for i := range rep.Limits {
		if l := &rep.Limits[i]; l.Used > 0 {
			all = append(all, fmt.Sprintf("%s %d used %s", l.path(), l.Used, l.span()))
		}
	}
	for _, b := range rep.Budgets {
		if b.Spent > 0 {
			all = append(all, fmt.Sprintf("%s %s spent of %s", b.Name, b.Spent, b.Budget))
		}
	}
	for _, a := range rep.Blocks {
		if n := len(a.Attempts); n > 0 {
			all = append(all, several(int64(n), "attempt"))
		}
		if a.Strikes > 0 {
			all = append(all, several(a.Strikes, "strike"))
		}
	}
	if len(all) == 0 {
		return "nothing recorded"
	}
	return strings.Join(all, ", ")
}

func several(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
