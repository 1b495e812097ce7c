package api

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// request returns what guard decides.
func (a *API) request(r *decideRequest) (guard.Request, error) {
	p := a.guard.Policy()
	q := guard.Request{
		Endpoint: r.Endpoint, Receipt: r.Receipt,
		Challenge: r.Challenge, Payload: r.Payload, Weight: r.Weight, Estimate: fcall.Micros(r.Estimate), Units: units(r.Units),
	}
	if r.Estimate < 0 {
		return q, argumentError("estimate", "not be negative", r.Estimate.String())
	}
	var err error
	if q.Subjects, err = subjects(p, "subjects", r.Subjects); err != nil {
		return q, err
	}
	for i, s := range q.Subjects {
		if name := identityOf(s); slices.ContainsFunc(q.Subjects[:i], func(other string) bool { return identityOf(other) == name }) {
			return q, argumentError("subjects", "have one value of "+name, quote(r.Subjects[i]))
		}
	}
	e, ok := p.Endpoint(r.Endpoint)
	if !ok {
		return q, guard.ErrEndpoint
	}
	limits := slices.Concat(p.Limits, e.Limits)
	// A field without effect would have the program believe that something is counted or checked.
	switch {
	case r.Receipt != "" && e.Idempotency == nil:
		return q, argumentError("receipt", "be omitted: "+e.Name+" has no idempotency in the policy", quote(r.Receipt))
	case r.Weight > 1 && !slices.ContainsFunc(limits, func(l policy.Limit) bool { return l.Kind != policy.SlidingLog }):
		return q, argumentError("weight", "be omitted: each limit of "+r.Endpoint+" is a sliding_log, which counts each request once", strconv.FormatInt(r.Weight, 10))
	case r.Estimate > 0 && e.Cost == nil:
		return q, argumentError("estimate", "be omitted: "+r.Endpoint+" has no cost in the policy", r.Estimate.String())
	case len(r.Units) > 0 && e.Cost == nil:
		return q, argumentError("units", "be omitted: "+r.Endpoint+" has no cost in the policy", quote(r.Units[0].Unit))
	case r.Challenge != "" && e.Challenge == nil:
		return q, argumentError("challenge", "be omitted: "+r.Endpoint+" has no challenge in the policy", quote(r.Challenge))
	case r.Payload != "" && r.Challenge == "":
		return q, argumentError("payload", "be omitted without a challenge", quote(r.Payload))
	}
	if !counted(p, limits, q.Subjects) {
		return q, argumentError("subjects", "have an identity that a limit of "+r.Endpoint+" counts", quote(strings.Join(r.Subjects, " ")))
	}
	return q, nil
}

// counted reports whether one of the limits counts one of the subjects, if any limit counts single clients. A request of a proxy always has
// an address; a program that omits the identity would be held to the limits of all clients only.
func counted(p *policy.Policy, limits []policy.Limit, subjects []string) bool {
	given := func(name string) bool {
		return slices.ContainsFunc(p.Alternatives(name), func(one string) bool {
			return slices.ContainsFunc(subjects, func(s string) bool { return identityOf(s) == one })
		})
	}
	single := false
	for _, l := range limits {
		if l.By.Global() || l.Shadow {
			continue
		}
		if !slices.ContainsFunc(l.By, func(name string) bool { return !given(name) }) {
			return true
		}
		single = true
	}
	return !single
}

// subjects returns subjects in the form that requests have.
func subjects(p *policy.Policy, name string, given []string) ([]string, error) {
	var out []string
	for _, text := range given {
		s, err := p.Subject(text)
		if err != nil {
			return nil, argumentError(name, strings.TrimPrefix(err.Error(), "must "), quote(text))
		}
		out = append(out, s)
	}
	return out, nil
}

// subject returns one subject, or the combination of several, in the form that requests have.
func (a *API) subject(text string) (string, error) {
	all, err := subjects(a.guard.Policy(), "subject", strings.Split(text, "+"))
	return strings.Join(all, "+"), err
}

func identityOf(subject string) string {
	name, _, _ := strings.Cut(subject, "=")
	return name
}

// quote quotes a value of a request, of any length.
func quote(text string) string { return strconv.Quote(text[:min(len(text), 100)]) }

func argumentError(name, must, got string) error {
	return &fcall.ArgumentError{Function: "request", Name: name, Must: must, Got: got}
}
