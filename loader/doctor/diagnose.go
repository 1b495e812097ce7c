package doctor

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/loader"
)

// Format is the version of a Diagnosis's JSON.
const Format = 1

// A Diagnosis is the findings on all nodes: problems, then warnings, then notes.
type Diagnosis struct {
	Format   int       `json:"format"`
	Nodes    int       `json:"nodes"` // number of nodes that were checked
	Findings []Finding `json:"findings"`
}

// Count returns the number of findings of a severity.
func (d *Diagnosis) Count(s Severity) int {
	n := 0
	for _, f := range d.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// Diagnose checks every node of the target and its libraries. It changes nothing. Problems of a node are findings; the error is
// about the whole target or the libraries. Diagnose skips what the user may not read.
func Diagnose(ctx context.Context, t *loader.Target, libs ...*fcall.Library) (*Diagnosis, error) {
	plan, err := t.Plan(ctx, libs...)
	if err != nil {
		return nil, err
	}
	d := &Diagnosis{Format: Format, Nodes: len(plan.Nodes), Findings: []Finding{}}
	for _, w := range plan.Warnings {
		d.add(Finding{ID: w.Code, Severity: Warn, Text: w.Text})
	}
	unreachable := map[string]bool{}
	for _, n := range plan.Nodes {
		d.node(n)
		unreachable[n.Addr] = n.Server == (loader.Server{}) // it said nothing to the plan; of a replica that is only a warning
	}
	var mu sync.Mutex
	err = t.Each(ctx, func(ctx context.Context, n loader.Node, c fcall.Caller) {
		if unreachable[n.Addr] {
			return // each question would take its whole time
		}
		f := gather(ctx, c)
		mu.Lock()
		defer mu.Unlock()
		for _, check := range checks {
			if what := check.look(f); what != "" {
				d.add(Finding{ID: check.id, Severity: check.severity, Node: n.Addr, Text: what, Fix: check.fix})
			}
		}
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(d.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(rank[a.Severity], rank[b.Severity]), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Text, b.Text))
	})
	return d, nil
}

var rank = map[Severity]int{Problem: 0, Warn: 1, Note: 2}

func (d *Diagnosis) add(f Finding) { d.Findings = append(d.Findings, f) }

// node adds the findings of a node's plan.
func (d *Diagnosis) node(n loader.NodePlan) {
	if n.Problem != nil {
		fix := "correct this, then run rlfunc doctor again"
		if n.Problem.Reason == loader.ErrUnreachable {
			fix = "start the server or correct --redis, then run rlfunc doctor again"
		}
		d.add(Finding{ID: string(n.Problem.Reason), Severity: Problem, Node: n.Addr, Text: n.Problem.Text, Fix: fix})
	}
	for _, w := range n.Warnings {
		d.add(Finding{ID: w.Code, Severity: Warn, Node: n.Addr, Text: w.Text})
	}
	for _, f := range Of(n.Server) {
		d.add(Finding{ID: f.ID, Severity: f.Severity, Node: n.Addr, Text: n.Server.String() + ": " + f.Text, Fix: f.Fix})
	}
	for _, s := range n.Steps {
		finding := Finding{Node: n.Addr}
		switch s.Action {
		case loader.Load:
			finding.ID, finding.Severity = "missing", Problem
			finding.Text, finding.Fix = s.Library+" is missing: calls find no function", "rlfunc deploy"
		case loader.Upgrade:
			finding.ID, finding.Severity = "older", Note
			finding.Text, finding.Fix = s.Library+" has version "+s.From+", and the source is "+s.To, "rlfunc deploy"
		case loader.Drift:
			finding.ID, finding.Severity = "drifted", Problem
			finding.Text, finding.Fix = s.Reason, "find out who changed it"
		case loader.TooOld:
			finding.ID, finding.Severity = "too_old", Problem
			finding.Text, finding.Fix = s.Reason, "upgrade the server, or deploy a version of the library for it"
		case loader.Conflicting:
			finding.ID, finding.Severity = "conflict", Problem
			finding.Text, finding.Fix = s.Library+": "+s.Reason, "delete that library or rename this one"
		default:
			continue
		}
		d.add(finding)
	}
}
