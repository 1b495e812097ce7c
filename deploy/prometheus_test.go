package deploy_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

// A prometheus is a server that a test starts.
type prometheus struct {
	engines.Process
	url string
}

// startPrometheus starts a Prometheus with the alert rules, which scrapes a page every second.
func startPrometheus(t *testing.T, page string) *prometheus {
	t.Helper()
	command := onpath.Program(t, "prometheus")
	target, err := url.Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := filepath.Abs("prometheus/rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config := fmt.Sprintf(`
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs:
  - job_name: service
    metrics_path: %q
    static_configs: [{targets: [%q]}]
`, rules, target.Path, target.Host)
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	addr := engines.FreeAddr(t)
	p := &prometheus{url: "http://" + addr}
	p.Process = engines.Beside(t, command, "--config.file", filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", addr)
	return p
}

// get sends a request to Prometheus's HTTP API.
func (p *prometheus) get(path string, query url.Values, to any) error {
	response, err := http.Get(p.url + path + "?" + query.Encode())
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return fmt.Errorf("%s: %w", response.Status, err)
	}
	if answer.Status != "success" {
		return &rejectedQuery{answer.Error}
	}
	return json.Unmarshal(answer.Data, to)
}

// A rejectedQuery is the error of a query that Prometheus rejects.
type rejectedQuery struct{ text string }

func (e *rejectedQuery) Error() string { return e.text }

// eventually polls until ask succeeds, the server exits, or a minute has passed.
func (p *prometheus) eventually(t *testing.T, what string, ask func() error) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for {
		err := ask()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-p.Ended:
			t.Fatalf("prometheus has ended: %s", p.Output())
		case <-deadline:
			t.Errorf("%s: %v", what, err)
			return
		}
	}
}
