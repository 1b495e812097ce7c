package demo

import "fmt"

// VerdictFormat is the version of a Verdict's JSON.
const VerdictFormat = 1

// A Verdict is the result of a demo.
type Verdict struct {
	Format      int        `json:"format"`
	Server      string     `json:"server"`
	VirtualTime bool       `json:"virtual_time"` // whether the demo moved the server's clock instead of waiting
	Steps       []Step     `json:"steps"`        // generate, plan, deploy, verify
	Scenarios   []Scenario `json:"scenarios"`
	KeysDeleted int64      `json:"keys_deleted"`
	Held        int        `json:"held"` // number of scenarios that hold
	OK          bool       `json:"ok"`   // whether all hold
	Summary     string     `json:"summary"`
}

// A Step is one step from the source to the server.
type Step struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// A Scenario is one situation and its result.
type Scenario struct {
	Name  string `json:"name"` // "fifty_at_once"
	Title string `json:"title"`
	Why   string `json:"why"`
	Rows  []Row  `json:"rows"`
	OK    bool   `json:"ok"`
	Found string `json:"found"` // what holds, or the first failure
}

// A Row counts the requests of one part of a scenario.
type Row struct {
	Label   string `json:"label"`
	Passed  int    `json:"passed"`
	Refused int    `json:"refused"`
	Note    string `json:"note,omitempty"`
}

func (v *Verdict) sum() {
	for _, s := range v.Scenarios {
		if s.OK {
			v.Held++
		}
	}
	v.OK = len(v.Scenarios) > 0 && v.Held == len(v.Scenarios)
	word := "FAIL"
	if v.OK {
		word = "PASS"
	}
	v.Summary = fmt.Sprintf("%s: %d of %d scenarios hold on %s", word, v.Held, len(v.Scenarios), v.Server)
}

// A scene is a scenario while it runs.
type scene struct {
	Scenario
	page   *page
	failed bool
}

// row prints the outcomes of requests in the order of their answers. True means passed.
func (s *scene) row(label string, outcomes []bool, note string) Row {
	r := Row{Label: label, Note: note}
	for _, passed := range outcomes {
		if passed {
			r.Passed++
		} else {
			r.Refused++
		}
	}
	s.Rows = append(s.Rows, r)
	s.page.row(r, outcomes)
	return r
}

// must records a failure unless ok. The first failure becomes the scenario's Found.
func (s *scene) must(ok bool, format string, args ...any) {
	if !ok {
		s.fail(format, args...)
	}
}

func (s *scene) fail(format string, args ...any) {
	if !s.failed {
		s.failed, s.Found = true, fmt.Sprintf(format, args...)
	}
}

// found records what holds, unless the scenario has failed.
func (s *scene) found(format string, args ...any) {
	if !s.failed {
		s.Found = fmt.Sprintf(format, args...)
	}
}

func (s *scene) end() {
	s.OK = !s.failed
	s.page.found(s.OK, s.Found)
}
