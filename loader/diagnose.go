package loader

import (
	"cmp"
	"context"
	"slices"

	"golang.org/x/mod/semver"

	"github.com/rlfunc/rlfunc/fcall"
)

// DiagnosisFormat is the version of a Diagnosis's JSON.
const DiagnosisFormat = 1

// A Diagnosis is the findings on all nodes: problems, then warnings, then notes.
type Diagnosis struct {
	Format   int       `json:"format"`
	Nodes    int       `json:"nodes"` // number of nodes that were checked
	Findings []Warning `json:"findings"`
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

// Diagnose checks every node of the target and its libraries: everything that a plan warns of, and what else a server may do to
// its users. It changes nothing. Problems of a node are findings; the error is about the whole target or the libraries. Diagnose
// skips what the user may not read.
func (t *Target) Diagnose(ctx context.Context, libs ...*fcall.Library) (*Diagnosis, error) {
	p, err := t.plan(ctx, "doctor", true, libs)
	if err != nil {
		return nil, err
	}
	d := &Diagnosis{Format: DiagnosisFormat, Nodes: len(p.Nodes), Findings: slices.Clone(p.Warnings)}
	if d.Findings == nil {
		d.Findings = []Warning{}
	}
	for _, n := range p.Nodes {
		for _, w := range n.findings() {
			w.Node = n.Addr
			d.Findings = append(d.Findings, w)
		}
	}
	rank := []Severity{Problem, Warn, Note}
	slices.SortFunc(d.Findings, func(a, b Warning) int {
		return cmp.Or(cmp.Compare(slices.Index(rank, a.Severity), slices.Index(rank, b.Severity)), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Text, b.Text))
	})
	return d, nil
}

// findings returns what is wrong with a node.
func (n NodeSteps) findings() []Warning {
	found := slices.Clone(n.Warnings)
	if n.Problem != nil {
		fix := "correct this, then run rlfunc doctor again"
		if n.Problem.Reason == ErrUnreachable {
			fix = "start the server or correct --redis, then run rlfunc doctor again"
		}
		found = append(found, Warning{ID: string(n.Problem.Reason), Severity: Problem, Text: n.Problem.Text, Fix: fix})
	}
	for _, f := range faultsOf(n.Server) {
		found = append(found, Warning{ID: f.id, Severity: f.severity, Text: n.Server.String() + ": " + f.text, Fix: f.fix})
	}
	for _, s := range n.Steps {
		switch s.Action {
		case Load:
			found = append(found, Warning{ID: "missing", Severity: Problem, Text: s.Library + " is missing: calls find no function", Fix: "rlfunc deploy"})
		case Upgrade:
			found = append(found, Warning{ID: "older", Severity: Note, Text: s.Library + " has version " + s.From + ", and the source is " + s.To, Fix: "rlfunc deploy"})
		case Action(Drifted):
			found = append(found, Warning{ID: string(s.Action), Severity: Problem, Text: s.Reason, Fix: "find out who changed it"})
		case Action(TooOld):
			found = append(found, Warning{ID: string(s.Action), Severity: Problem, Text: s.Reason, Fix: "upgrade the server, or deploy a version of the library for it"})
		case Action(Conflicting):
			found = append(found, Warning{ID: string(s.Action), Severity: Problem, Text: s.Library + ": " + s.Reason, Fix: "delete that library or rename this one"})
		}
	}
	return found
}

// A fault is a known defect of some versions of a server. Each was observed on the listed versions, or its maker published a fix.
// A distribution may have fixed an older version, so a finding is a reason to check, not a proof.
type fault struct {
	id       string
	severity Severity
	versions []versionRange
	text     string // the effect
	fix      string
}

// A versionRange is versions of one product, both ends included.
type versionRange struct {
	kind     string // "Redis", "Valkey"
	from, to string // "7.0.15"; an empty to equals from
}

// faults are the known ones, by ID.
var faults = []fault{
	{
		id: "lua-cve", severity: Warn,
		versions: []versionRange{
			{"Redis", "7.0.0", "7.2.10"},
			{"Redis", "7.4.0", "7.4.5"},
			{"Redis", "8.0.0", "8.0.3"},
			{"Redis", "8.2.0", "8.2.1"},
			{"Valkey", "7.2.0", "7.2.10"},
			{"Valkey", "8.0.0", "8.0.5"},
			{"Valkey", "8.1.0", "8.1.3"},
		},
		text: "a user who may run Lua can break out of it (faults of 2025, fixed in Redis 7.2.11, 7.4.6, 8.0.4, 8.2.2 and Valkey 7.2.11, 8.0.6, 8.1.4)",
		fix:  "upgrade the server, or make sure that your distribution has fixed its version; grant EVAL and FUNCTION LOAD only to users that need them (rlfunc acl)",
	},
	{
		id: "raised-table-crash", severity: Note,
		versions: []versionRange{{"Redis", "7.0.15", "8.0.2"}, {"Valkey", "8.0.1", ""}, {"Valkey", "8.1.1", ""}},
		text:     "a function that raises a table without a text, as in error({}), ends the server",
		fix:      "deploy only what rlfunc vet has passed; upgrade the server",
	},
	{
		id: "call-argument-crash", severity: Note,
		versions: []versionRange{{"Redis", "7.4.1", ""}, {"Redis", "8.0.2", "8.0.6"}},
		text:     "a function that gives redis.call nil, a boolean or a table lets FUNCTION FLUSH, DEBUG RELOAD and a full resync end the server: a primary that was demoted dies when it comes back",
		fix:      "deploy only what rlfunc vet has passed, and never use FUNCTION FLUSH; upgrade the server",
	},
	{
		id: "error-newline", severity: Note,
		versions: []versionRange{{"Redis", "7.2.6", ""}, {"Redis", "7.4.1", ""}, {"Valkey", "8.0.1", ""}},
		text:     "an error whose text has a line break splits the reply, and the connection is one reply off from then on",
		fix:      "deploy only what rlfunc vet has passed; upgrade the server",
	},
	{
		id: "function-case-crash", severity: Note,
		versions: []versionRange{{"Redis", "7.0.15", ""}, {"Redis", "8.0.2", ""}, {"Valkey", "8.1.1", ""}},
		text:     "two functions of one library whose names differ in case only end the server when the library is deleted or replaced",
		fix:      "check libraries of other tools; rlfunc generates none of these",
	},
	{
		id: "load-log-crash", severity: Note,
		versions: []versionRange{{"Valkey", "9.1.2", ""}},
		text:     "a library that calls redis.log while it is loaded ends the server",
		fix:      "deploy only what rlfunc vet has passed; upgrade the server",
	},
}

// faultsOf lists the known faults of a server's version.
func faultsOf(s Server) []fault {
	var found []fault
	for _, f := range faults {
		for _, r := range f.versions {
			if r.holds(s) {
				found = append(found, f)
				break
			}
		}
	}
	return found
}

func (r versionRange) holds(s Server) bool {
	version := "v" + s.Version
	if s.Kind != r.kind || !semver.IsValid(version) {
		return false
	}
	to := r.to
	if to == "" {
		to = r.from
	}
	return semver.Compare(version, "v"+r.from) >= 0 && semver.Compare(version, "v"+to) <= 0
}
