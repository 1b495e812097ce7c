package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/internal/engines"
)

func TestMain(m *testing.M) { engines.Main(m) }

// post posts a request, and returns the answer to one that runs. It may run at the same time as others.
func (p *program) post(path, body string) map[string]any {
	w := p.send(http.MethodPost, path, body)
	var answer map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
		p.t.Errorf("%s: %d %s", path, w.Code, w.Body)
	}
	return answer
}

func TestAPI_leasesWithoutRedis(t *testing.T) {
	p := newProgram(t, embedded.New(embedded.Options{}).Client())
	a := p.must("/v1/decide", map[string]any{"endpoint": "export", "subjects": []string{"ip=192.0.2.1"}})
	cut := newProgram(t, redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1}))
	for _, path := range []string{"/v1/charges/renew", "/v1/charges/release"} {
		for range 10 { // the circuit breaker opens
			if status, problem := cut.ask(path, map[string]any{"charge": a["charge"]}); status != 503 || problem["error"] != "limiter_unavailable" {
				t.Errorf("%s: %d %v", path, status, problem)
			}
		}
	}
	local := cut.must("/v1/decide", map[string]any{"endpoint": "export", "subjects": []string{"ip=192.0.2.1"}})
	if local["fallback"] != "local" || local["charge"] != nil {
		t.Errorf("%v", local)
	}
}

// The answers of docs/serve.md have the fields, and most of the values, of real ones.
func TestPage_chargesWork(t *testing.T) {
	page, err := os.ReadFile("../../../docs/serve.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "### Charges: what to do after a decision\n")
	section, _, _ = strings.Cut(section, "\n## ")
	p := newProgram(t, embedded.New(embedded.Options{}).Client())
	shortened, lease := regexp.MustCompile(`"[^"]*\.\.\."`), ""
	exchanges := regexp.MustCompile("(?m)^    POST (\\S+) +(.*)\n    (.*)$").FindAllStringSubmatch(section, -1)
	if len(exchanges) != 4 {
		t.Fatalf("%d requests", len(exchanges))
	}
	for _, x := range exchanges {
		got := p.post(x[1], shortened.ReplaceAllString(x[2], fmt.Sprintf("%q", lease)))
		if text, ok := got["charge"].(string); ok {
			lease = text
		}
		var want map[string]any
		if err := json.Unmarshal([]byte(shortened.ReplaceAllString(x[3], fmt.Sprintf("%q", lease))), &want); err != nil {
			t.Fatalf("%s: %v", x[3], err)
		}
		for name, value := range want {
			n, ok := got[name].(float64)
			if seconds, _ := value.(float64); ok && n > seconds-10 && n <= seconds {
				continue // time passes
			}
			if diff := cmp.Diff(value, got[name]); diff != "" {
				t.Errorf("%s %s (-page +answer):\n%s", x[1], name, diff)
			}
		}
	}
}
