package demo

import "fmt"

// VerdictFormat is the version of a Verdict's JSON.
const VerdictFormat = 1

// A Verdict is what the demo saw.
type Verdict struct {
	Format      int        `json:"format"`
	Server      string     `json:"server"`
	VirtualTime bool       `json:"virtual_time"` // whether the demo moved the server's clock instead of waiting
	Steps       []Step     `json:"steps"`        // generate, plan, deploy, verify
	Scenarios   []Scenario `json:"scenarios"`
	KeysDeleted int64      `json:"keys_deleted"`
	Held        int        `json:"held"` // how many scenarios came out right
	OK          bool       `json:"ok"`   // whether all did
	Summary     string     `json:"summary"`
}

// A Step is one step of the way from the source to the server.
type Step struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// A Scenario is one situation and what came out.
type Scenario struct {
	Name  string `json:"name"` // "fifty_at_once"
	Title string `json:"title"`
	Why   string `json:"why"`
	Rows  []Row  `json:"rows"`
	OK    bool   `json:"ok"`
	Found string `json:"found"` // what was found, or the first thing that is wrong
}

// A Row is one picture: requests that passed and requests that were refused.
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

// row shows the outcomes of requests in the order in which they were answered; true is passed.
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

// must says what is wrong unless ok; the first wrong thing is what the scenario found.
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

// found says what holds, unless something was wrong.
func (s *scene) found(format string, args ...any) {
	if !s.failed {
		s.Found = fmt.Sprintf(format, args...)
	}
}

func (s *scene) end() {
	s.OK = !s.failed
	s.page.found(s.OK, s.Found)
}
