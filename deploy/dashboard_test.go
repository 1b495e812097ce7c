package deploy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/internal/onpath"
)

type dashboard struct {
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
	Panels []struct {
		ID         int
		Title      string
		Datasource source
		GridPos    struct{ X, Y, W, H int }
		Targets    []struct {
			Datasource source
			Expr       string
			Legend     string `json:"legendFormat"`
		}
	}
}

type source struct{ Type, UID string }

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	text, err := os.ReadFile("grafana/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDashboard_usesSelectedDatasource(t *testing.T) {
	d := readDashboard(t)
	if len(d.Templating.List) == 0 || d.Templating.List[0].Name != "datasource" || d.Templating.List[0].Type != "datasource" {
		t.Error("the first variable is not the datasource")
	}
	want := source{"prometheus", "${datasource}"}
	ids, places := map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if ids[p.ID] || len(p.Targets) == 0 || p.Datasource != want {
			t.Errorf("panel %s: its id %d, targets %v, datasource %v", p.Title, p.ID, p.Targets, p.Datasource)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			if target.Datasource != want {
				t.Errorf("panel %s uses %v", p.Title, target.Datasource)
			}
		}
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if other := places[at]; other != "" {
					t.Fatalf("panels %s and %s overlap", other, p.Title)
				}
				places[at] = p.Title
			}
		}
	}
}

var (
	labelValues = regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`)
	threshold   = regexp.MustCompile(` > [0-9.]+$`)
	// Labels in a legend or an alert.
	shown = regexp.MustCompile(`{{ *(?:\$labels\.)?(\w+) *}}`)
	// Variables that Grafana replaces.
	filledIn = strings.NewReplacer("$__rate_interval", "30s", "$job", ".*")
)

// All queries of the dashboard and the alerts find data of a guard with traffic, in a real Prometheus. A wrong metric or label finds
// nothing.
func TestPrometheus_hasDataForDashboardAndAlerts(t *testing.T) {
	onpath.Full(t)
	onpath.Program(t, "prometheus")
	p := startPrometheus(t, serveTraffic(t))
	p.eventually(t, "prometheus answers", func() error {
		var any struct{}
		return p.get("/api/v1/status/runtimeinfo", nil, &any)
	})
	d := readDashboard(t)
	for _, v := range d.Templating.List[1:] {
		m := labelValues.FindStringSubmatch(v.Definition)
		if m == nil {
			t.Fatalf("the variable %s is %q", v.Name, v.Definition)
		}
		p.hasData(t, "variable "+v.Name, fmt.Sprintf("group by (%s) (%s)", m[2], m[1]), "{{"+m[2]+"}}")
	}
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			p.hasData(t, "panel "+panel.Title, filledIn.Replace(target.Expr)+" > 0", target.Legend)
		}
	}
	for _, group := range readRules(t).Groups {
		for _, r := range group.Rules {
			if !threshold.MatchString(r.Expr) {
				t.Errorf("alert %s has no threshold at its end: %s", r.Alert, r.Expr)
			}
			p.hasData(t, "alert "+r.Alert, threshold.ReplaceAllString(r.Expr, "")+" >= 0", r.Annotations.Summary)
		}
	}
	p.rulesAreHealthy(t)
}

// A sample is a series in the result of a query, without its value.
type sample struct{ Metric map[string]string }

// hasData polls until the result of a query has all labels in text. It fails at once if Prometheus rejects the query.
func (p *prometheus) hasData(t *testing.T, what, query, text string) {
	t.Helper()
	var refused *rejectedQuery
	p.eventually(t, what+": "+query, func() error {
		var answer struct{ Result []sample }
		if err := p.get("/api/v1/query", url.Values{"query": {query}}, &answer); errors.As(err, &refused) {
			t.Fatalf("%s: %s: %v", what, query, err)
		} else if err != nil {
			return err
		}
		if len(answer.Result) == 0 {
			return errors.New("no data")
		}
		for _, m := range shown.FindAllStringSubmatch(text, -1) {
			if !slices.ContainsFunc(answer.Result, func(s sample) bool { return s.Metric[m[1]] != "" }) {
				return fmt.Errorf("no label %s in %v", m[1], answer.Result)
			}
		}
		return nil
	})
}

// rulesAreHealthy waits until Prometheus itself has evaluated each alert.
func (p *prometheus) rulesAreHealthy(t *testing.T) {
	t.Helper()
	p.eventually(t, "the alerts are evaluated", func() error {
		var answer struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
		if err := p.get("/api/v1/rules", nil, &answer); err != nil {
			return err
		}
		if len(answer.Groups) == 0 {
			return errors.New("no rules")
		}
		for _, g := range answer.Groups {
			for _, r := range g.Rules {
				if r.Health != "ok" {
					return fmt.Errorf("%s is %s: %s", r.Name, r.Health, r.LastError)
				}
			}
		}
		return nil
	})
}
