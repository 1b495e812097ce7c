package inspect

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// Explained is how a middleware or an Envoy service reads a request by a policy, and what counts it, for people and as JSON.
type Explained struct {
	Policy      *policy.Policy
	Guard       *guard.Explanation
	Descriptors []Descriptor // of a rate limit request of Envoy; nil for an HTTP request
	Answer      string       // to a rate limit request that guard does not decide
	Error       string       // in that answer
}

// A Descriptor is one of Envoy's, and what it matches.
type Descriptor struct {
	Descriptor string `json:"descriptor"`
	Rule       int    `json:"rule"`     // its index in the policy; -1 if none matches
	Endpoint   string `json:"endpoint"` // "" if none matches
}

// WriteText writes the explanation, a part per line.
func (x *Explained) WriteText(w io.Writer) error {
	var b strings.Builder
	x.lines(func(part, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s %s\n", part, fmt.Sprintf(format, args...))
	})
	_, err := io.WriteString(w, b.String())
	return err
}

func (x *Explained) lines(line func(part, format string, args ...any)) {
	p, e := x.Policy, x.Guard
	for _, d := range x.Descriptors {
		if d.Rule < 0 {
			line("descriptor", "%s matches none: it is not limited", d.Descriptor)
		} else {
			line("descriptor", "%s matches descriptors[%d]: endpoint %s", d.Descriptor, d.Rule, d.Endpoint)
		}
	}
	switch {
	case x.Answer != "":
		line("answer", "%s", strings.TrimSuffix(x.Answer+", "+x.Error, ", "))
		return
	case x.Descriptors != nil:
	case e.Exempt:
		line("exempt", "the request passes: no limit, block or override applies to it")
		return
	case e.Request.Endpoint == "" && p.Unmatched == policy.UnmatchedRefuse:
		line("endpoint", "none matches: the request is refused with 404")
		return
	case e.Request.Endpoint == "":
		line("endpoint", "none matches: the request passes")
		return
	default:
		line("endpoint", "%s", e.Request.Endpoint)
	}
	for _, s := range e.Request.Subjects {
		proof := "claimed"
		if verified(p, s) {
			proof = "verified"
		}
		line("identity", "%s, %s", s, proof)
	}
	switch {
	case e.Denied != "":
		line("override", "denies %s: the request is refused with 403", e.Denied)
	case e.Allowed != "":
		line("override", "allows the request, and no limit counts it")
	default:
		counts(line, p, e)
	}
}

// counts writes the subject that each part of the policy counts.
func counts(line func(part, format string, args ...any), p *policy.Policy, e *guard.Explanation) {
	line("client", "%s", cmp.Or(e.Subject, "none"))
	if e.Plan != "" {
		line("plan", "%s", e.Plan)
	}
	for _, s := range slices.Sorted(maps.Keys(e.Multiplied)) {
		line("override", "gives %s %d times each limit and budget", s, e.Multiplied[s])
	}
	for _, l := range e.Limits {
		line("limit", "%s counts %s: %s", l.Name, l.Subject, capacity(p, &l))
	}
	if len(e.Missing) > 0 {
		line("skipped", "%s: the request lacks the identity", strings.Join(e.Missing, ", "))
	}
	for _, b := range e.Budgets {
		amount, span := Money(b.Budget).String(), policy.FormatDuration(b.Window)
		if b.Unit != "" {
			amount += " " + b.Unit
		}
		if b.Every != "" {
			span = "this " + string(b.Every)
		}
		needs, reserves := needed(e, b.Unit)
		if reserves != needs {
			reserves += " and needs " + needs
		}
		line("budget", "%s of %s: %s in %s, reserves %s", b.Name, b.Subject, amount, span, reserves)
	}
	if e.Attempts != "" {
		line("block", "%s counts attempts of %s", e.Block, e.Attempts)
	}
	switch {
	case e.ChallengeRequired:
		line("challenge", "required, of %s", cmp.Or(e.Challenge, "none"))
	case e.Challenge != "":
		line("challenge", "of %s", e.Challenge)
	}
	switch {
	case !e.Counted && e.Unbounded:
		line("counted", "by no limit: the endpoint is unbounded")
	case !e.Counted:
		line("counted", "by no limit: the request is refused with 400")
	}
}

// MarshalJSON writes one object. Its names are an interface.
func (x *Explained) MarshalJSON() ([]byte, error) {
	type object = map[string]any
	e := x.Guard
	identities, limits, budgets := []object{}, []object{}, []object{}
	for _, s := range e.Request.Subjects {
		identities = append(identities, object{"subject": s, "verified": verified(x.Policy, s)})
	}
	for _, l := range e.Limits {
		limit := object{
			"name": l.Name, "counts": l.Subject, "kind": l.Kind, "limit": l.Limit, "window": Seconds(l.Window), "lease": Seconds(l.Lease),
			"burst": l.Burst, "shadow": l.Shadow,
		}
		if q := quota(x.Policy, &l); q != nil {
			limit["every"], limit["zone"], limit["starts"] = q.Every, cmp.Or(q.Zone, "UTC"), q.Starts // "" for midnight of the first day
		}
		limits = append(limits, limit)
	}
	for _, b := range e.Budgets {
		needs, reserves := needed(e, b.Unit)
		budgets = append(budgets, object{
			"name": b.Name, "counts": b.Subject, "unit": b.Unit, "budget": Money(b.Budget), "window": Seconds(b.Window), "every": b.Every,
			"reserves": reserves, "needs": needs,
		})
	}
	multiplied := map[string]int64{}
	maps.Copy(multiplied, e.Multiplied)
	out := object{
		"exempt": e.Exempt, "endpoint": e.Request.Endpoint, "identities": identities, "denied": e.Denied, "allowed": e.Allowed != "",
		"multiplied": multiplied, "plan": e.Plan, "client": e.Subject, "limits": limits, "missing": append([]string{}, e.Missing...),
		"budgets": budgets, "block": e.Block, "attempts": e.Attempts, "challenge": e.Challenge, "challenge_required": e.ChallengeRequired, "counted": e.Counted,
		"unbounded": e.Unbounded,
	}
	if x.Descriptors != nil {
		out["descriptors"], out["answer"], out["error"] = x.Descriptors, x.Answer, x.Error
	}
	return json.Marshal(out)
}

func verified(p *policy.Policy, subject string) bool {
	name, _, _ := strings.Cut(subject, "=")
	return p.Verified(name)
}

// needed returns what must be left of a budget's unit, and what of that the request reserves: less where Envoy tells the cost at the end of
// the response.
func needed(e *guard.Explanation, unit string) (needs, reserves string) {
	needs = Money(e.Estimate).String()
	for _, a := range e.Units {
		if a.Unit == unit {
			needs = strconv.FormatInt(a.N, 10)
		}
	}
	if slices.Contains(e.Request.Unreserved, unit) {
		return needs, "0"
	}
	return needs, needs
}

// capacity describes what a limit admits.
func capacity(p *policy.Policy, l *guard.LimitState) string {
	text := fmt.Sprintf("%s of %d in %s", l.Kind, l.Limit, policy.FormatDuration(l.Window))
	if l.Kind == policy.Concurrency {
		text = fmt.Sprintf("%s of %d, lease %s", l.Kind, l.Limit, policy.FormatDuration(l.Lease))
	}
	if q := quota(p, l); q != nil {
		text = fmt.Sprintf("%s of %d every %s, %s", l.Kind, l.Limit, q.Every, cmp.Or(q.Zone, "UTC"))
		if q.Starts != "" {
			text += ", starts " + string(q.Starts)
		}
	}
	if l.Burst > l.Limit {
		text += fmt.Sprintf(", bursts of %d", l.Burst)
	}
	if l.Shadow {
		text += ", shadow"
	}
	return text
}

// quota returns the policy's definition of a quota; nil for a limit of another kind.
func quota(p *policy.Policy, l *guard.LimitState) *policy.Limit {
	limits := p.Limits
	if e, ok := p.Endpoint(l.Endpoint); ok {
		limits = e.Limits
	}
	if i := slices.IndexFunc(limits, func(of policy.Limit) bool { return of.Name == l.Name && of.Kind == policy.Quota }); i >= 0 {
		return &limits[i]
	}
	return nil
}
