package deploy_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/rlfunc/rlfunc/internal/onpath"
)

type rules struct {
	Groups []struct {
		Rules []struct {
			Alert, Expr string
			Annotations struct{ Summary, Runbook string }
		}
	}
}

func readRules(t *testing.T) rules {
	t.Helper()
	text, err := os.ReadFile("prometheus/rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	var r rules
	if err := yaml.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRules_fireAsTested(t *testing.T) {
	promtool := onpath.Program(t, "promtool")
	for _, args := range [][]string{{"check", "rules", "rules.yml"}, {"test", "rules", "rules_test.yml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = "prometheus"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}

func TestRules_haveSummaryAndRunbook(t *testing.T) {
	for _, group := range readRules(t).Groups {
		for _, r := range group.Rules {
			if r.Alert == "" || r.Annotations.Summary == "" || r.Annotations.Runbook == "" {
				t.Errorf("a rule without a name, a summary or a runbook: %+v", r)
			}
		}
	}
}

// docs/operate.md names metrics to watch, each with its alert or a panel of the dashboard.
func TestRules_ofTheOperatorsPage(t *testing.T) {
	page, err := os.ReadFile("../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	dashboard, err := os.ReadFile("grafana/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	exprs := map[string]string{"": string(dashboard)}
	for _, group := range readRules(t).Groups {
		for _, r := range group.Rules {
			exprs[r.Alert] = r.Expr
		}
	}
	rows := regexp.MustCompile("(?m)^\\| `(rlfunc_guard_\\w+)`.* \\| (?:`(\\w+)` )?\\|$").FindAllStringSubmatch(string(page), -1)
	if len(rows) != 5 {
		t.Errorf("%d metrics in docs/operate.md", len(rows))
	}
	for _, row := range rows {
		if !strings.Contains(exprs[row[2]], row[1]) {
			t.Errorf("docs/operate.md: alert %q is not on %s: %s", row[2], row[1], exprs[row[2]])
		}
	}
}
