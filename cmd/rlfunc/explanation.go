package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/output"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/inspect"
)

// An explanation is the middleware's reading of a request. Its JSON names are an interface.
type explanation struct {
	Exempt            bool                `json:"exempt"`    // then the rest is empty
	Preflight         bool                `json:"preflight"` // then the rest is empty, too
	Endpoint          string              `json:"endpoint"`  // "" if none matches
	Others            []string            `json:"others"`    // by another reading of the path
	Identities        []explainedIdentity `json:"identities"`
	Also              []string            `json:"also"`
	Denied            string              `json:"denied"` // the subject that an override denies
	Allowed           bool                `json:"allowed"`
	Multiplied        map[string]int64    `json:"multiplied"` // the factor of an override, by subject
	Plan              string              `json:"plan"`       // "" for none
	Client            string              `json:"client"`
	Limits            []explainedLimit    `json:"limits"`
	Missing           []string            `json:"missing"` // limits whose identity the request lacks
	Budgets           []explainedBudget   `json:"budgets"`
	Attempts          string              `json:"attempts"`
	Challenge         string              `json:"challenge"`
	ChallengeRequired bool                `json:"challenge_required"`
	Counted           bool                `json:"counted"`
	Unbounded         bool                `json:"unbounded"` // then a request that no limit counts passes

	Descriptors []explainedDescriptor `json:"descriptors,omitempty"` // of a rate limit request
	Answer      string                `json:"answer,omitempty"`      // to a rate limit request that guard does not decide
	Error       string                `json:"error,omitempty"`       // in the answer
}

type explainedDescriptor struct {
	Descriptor string `json:"descriptor"`
	Rule       int    `json:"rule"`     // its index in the policy; -1 if none matches
	Endpoint   string `json:"endpoint"` // "" if none matches
}

type explainedIdentity struct {
	Subject  string `json:"subject"`
	Verified bool   `json:"verified"`
}

type explainedBudget struct {
	Name     string        `json:"name"`
	Counts   string        `json:"counts"`
	Unit     string        `json:"unit,omitempty"` // "" for money
	Budget   inspect.Money `json:"budget"`
	Window   float64       `json:"window"`          // seconds; of a period, those of the current one
	Every    string        `json:"every,omitempty"` // of a budget with periods
	Reserves string        `json:"reserves"`
	Needs    string        `json:"needs"` // what must be left: more than it reserves of what Envoy tells at the end of the response
}

// needed returns what the request needs in a unit, and what it reserves of that.
func needed(e *guard.Explanation, unit string) (needs, reserves string) {
	needs = inspect.Money(e.Estimate).String()
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

type explainedLimit struct {
	Name   string  `json:"name"`
	Counts string  `json:"counts"`
	Kind   string  `json:"kind"`
	Limit  int64   `json:"limit"`
	Window float64 `json:"window"` // seconds
	Lease  float64 `json:"lease"`  // seconds, of a concurrency
	Burst  int64   `json:"burst"`
	Shadow bool    `json:"shadow"`
	Every  string  `json:"every,omitempty"` // of a quota, as the zone
	Zone   string  `json:"zone,omitempty"`
	Starts string  `json:"starts,omitempty"` // "" for midnight of the first day
}

func explanationOf(p *policy.Policy, e *guard.Explanation) *explanation {
	out := &explanation{
		Exempt: e.Exempt, Preflight: e.Preflight, Endpoint: e.Request.Endpoint, Others: output.List(e.Request.OtherEndpoints), Identities: []explainedIdentity{}, Also: output.List(e.Request.Also),
		Denied: e.Denied, Allowed: e.Allowed != "", Multiplied: map[string]int64{}, Plan: e.Plan, Client: e.Subject,
		Limits: []explainedLimit{}, Missing: output.List(e.Missing), Budgets: []explainedBudget{}, Attempts: e.Attempts,
		Challenge: e.Challenge, ChallengeRequired: e.ChallengeRequired, Counted: e.Counted, Unbounded: e.Unbounded,
	}
	maps.Copy(out.Multiplied, e.Multiplied)
	for _, s := range e.Request.Subjects {
		name, _, _ := strings.Cut(s, "=")
		out.Identities = append(out.Identities, explainedIdentity{s, p.Verified(name)})
	}
	for _, l := range e.Limits {
		every, zone, starts := periodOf(p, &l)
		out.Limits = append(out.Limits, explainedLimit{
			l.Name, l.Subject, string(l.Kind), l.Limit, l.Window.Seconds(), l.Lease.Seconds(), l.Burst, l.Shadow, every, zone, starts,
		})
	}
	for _, b := range e.Budgets {
		needs, reserves := needed(e, b.Unit)
		out.Budgets = append(out.Budgets, explainedBudget{b.Name, b.Subject, b.Unit, inspect.Money(b.Budget), b.Window.Seconds(), string(b.Every), reserves, needs})
	}
	return out
}

// printExplanation prints an explanation, a part per line.
func (a *app) printExplanation(p *policy.Policy, e *guard.Explanation) {
	line := a.explain
	if e.Preflight {
		line("preflight", "guard answers it by cors, and nothing counts it")
		return
	}
	if e.Exempt {
		line("exempt", "the request passes: no limit, block or override applies to it")
		return
	}
	if e.Request.Endpoint == "" {
		line("endpoint", "none matches: %s", map[policy.Unmatched]string{
			policy.UnmatchedPass: "the request passes", policy.UnmatchedRefuse: "the request is refused with 404",
		}[p.Unmatched])
		return
	}
	line("endpoint", "%s", e.Request.Endpoint)
	for _, other := range e.Request.OtherEndpoints {
		line("and", "%s, by another reading of the path", other)
	}
	a.printFound(p, e)
}

// explain prints a part of an explanation.
func (a *app) explain(part, format string, args ...any) {
	fmt.Fprintf(a.out, "%-10s %s\n", part, fmt.Sprintf(format, args...))
}

// printFound prints the identities of a request, and what counts them.
func (a *app) printFound(p *policy.Policy, e *guard.Explanation) {
	line := a.explain
	for _, s := range e.Request.Subjects {
		name, _, _ := strings.Cut(s, "=")
		proof := "verified"
		if !p.Verified(name) {
			proof = "claimed"
		}
		line("identity", "%s, %s", s, proof)
	}
	for _, s := range e.Request.Also {
		line("also", "%s, unproven: only a deny applies to it", s)
	}
	switch {
	case e.Denied != "":
		line("override", "denies %s: the request is refused with 403", e.Denied)
	case e.Allowed != "":
		line("override", "allows the request, and no limit counts it")
	default:
		printCounts(line, p, e)
	}
}

// printCounts prints the subject that each part of the policy counts.
func printCounts(line func(part, format string, args ...any), p *policy.Policy, g *guard.Explanation) {
	line("client", "%s", cmp.Or(g.Subject, "none"))
	if g.Plan != "" {
		line("plan", "%s", g.Plan)
	}
	for _, s := range slices.Sorted(maps.Keys(g.Multiplied)) {
		line("override", "gives %s %d times each limit and budget", s, g.Multiplied[s])
	}
	for _, l := range g.Limits {
		line("limit", "%s counts %s: %s", l.Name, l.Subject, capacity(p, &l))
	}
	if len(g.Missing) > 0 {
		line("skipped", "%s: the request lacks the identity", strings.Join(g.Missing, ", "))
	}
	for _, b := range g.Budgets {
		amount, span := inspect.Money(b.Budget).String(), policy.FormatDuration(b.Window)
		if b.Unit != "" {
			amount += " " + b.Unit
		}
		if b.Every != "" {
			span = "this " + string(b.Every)
		}
		needs, reserves := needed(g, b.Unit)
		if reserves != needs {
			reserves += " and needs " + needs
		}
		line("budget", "%s of %s: %s in %s, reserves %s", b.Name, b.Subject, amount, span, reserves)
	}
	if g.Attempts != "" {
		line("attempts", "of %s", g.Attempts)
	}
	switch {
	case g.ChallengeRequired:
		line("challenge", "required, of %s", cmp.Or(g.Challenge, "none"))
	case g.Challenge != "":
		line("challenge", "of %s", g.Challenge)
	}
	switch {
	case !g.Counted && g.Unbounded:
		line("counted", "by no limit: the endpoint is unbounded")
	case !g.Counted:
		line("counted", "by no limit: the request is refused with 400")
	}
}

// capacity describes what a limit admits.
func capacity(p *policy.Policy, l *guard.LimitState) string {
	text := fmt.Sprintf("%s of %d in %s", l.Kind, l.Limit, policy.FormatDuration(l.Window))
	switch l.Kind {
	case policy.Concurrency:
		text = fmt.Sprintf("%s of %d, lease %s", l.Kind, l.Limit, policy.FormatDuration(l.Lease))
	case policy.Quota:
		every, zone, starts := periodOf(p, l)
		text = fmt.Sprintf("%s of %d every %s, %s", l.Kind, l.Limit, every, zone)
		if starts != "" {
			text += ", starts " + starts
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

// periodOf returns the period of a quota, as the policy defines it; "" for another limit.
func periodOf(p *policy.Policy, l *guard.LimitState) (every, zone, starts string) {
	limits := p.Limits
	if e, ok := p.Endpoint(l.Endpoint); ok {
		limits = e.Limits
	}
	i := slices.IndexFunc(limits, func(of policy.Limit) bool { return of.Name == l.Name && of.Kind == policy.Quota })
	if i < 0 {
		return "", "", ""
	}
	return string(limits[i].Every), cmp.Or(limits[i].Zone, "UTC"), string(limits[i].Starts)
}
