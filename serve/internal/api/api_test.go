package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

const limits = `
version: 1
timeout: 20s
budgets: [{name: day, budget: "1.00", window: 24h}, {name: tokens, unit: tokens, budget: 1000, window: 1h}]
endpoints:
  - {name: chat, cost: {estimate: "0.25"}, limits: [{name: hour, limit: 3, window: 1h}]}
  - {name: code, limits: [{name: hour, limit: 3, window: 1h}], challenge: {required: true}}
  - {name: export, limits: [{name: exports, kind: concurrency, limit: 10, lease: 30s}]}
  - {name: login, idempotency: {repeats: 2}, limits: [{name: hour, limit: 3, window: 1h}, {name: everyone, by: all, limit: 100, window: 1h}]}
  - {name: upload, limits: [{name: uploads, kind: concurrency, limit: 10, lease: 1h}]}
`

// A program asks the API, and holds each request and answer against the document.
type program struct {
	http.Handler
	t        *testing.T
	document map[string]any
	compiler *jsonschema.Compiler
	asked    map[string]bool
}

func newProgram(t *testing.T, rdb redis.UniversalClient) *program {
	t.Helper()
	p, err := policy.Parse("limits.yaml", []byte(limits))
	if err != nil {
		t.Fatal(err)
	}
	g, err := guard.New(rdb, p, guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	h, err := New(g, rdb, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	c := &program{Handler: h, t: t, compiler: jsonschema.NewCompiler(), asked: map[string]bool{}}
	w := c.send(http.MethodGet, "/openapi.json", "")
	if c.document, err = unmarshal(w.Body.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := c.compiler.AddResource("openapi.json", c.document); err != nil {
		t.Fatal(err)
	}
	return c
}

func unmarshal(text []byte) (map[string]any, error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return v.(map[string]any), nil
}

func (p *program) send(method, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(p.t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w
}

// valid checks a value against a schema, by its place in the document.
func (p *program) valid(place string, value any) {
	p.t.Helper()
	schema, err := p.compiler.Compile("openapi.json#" + place)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		p.t.Errorf("%s: %v", place, err)
	}
}

// ask posts a request and returns the status and the answer.
func (p *program) ask(path string, request map[string]any) (int, map[string]any) {
	p.t.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		p.t.Fatal(err)
	}
	w := p.send(http.MethodPost, path, string(body))
	answer, err := unmarshal(w.Body.Bytes())
	if err != nil {
		p.t.Fatalf("%s: %v: %s", path, err, w.Body)
	}
	at := "/paths/" + strings.ReplaceAll(path, "/", "~1") + "/post/"
	if w.Code != http.StatusOK {
		p.valid("/components/responses/problem/content/application~1problem+json/schema", answer)
		if w.Header().Get("Content-Type") != "application/problem+json" || fmt.Sprint(answer["status"]) != fmt.Sprint(w.Code) {
			p.t.Errorf("%s: %d %v %v", path, w.Code, w.Header(), answer)
		}
		return w.Code, answer
	}
	sent, err := unmarshal(body)
	if err != nil {
		p.t.Fatal(err)
	}
	p.asked[path] = true
	p.valid(at+"requestBody/content/application~1json/schema", sent)
	p.valid(at+"responses/200/content/application~1json/schema", answer)
	return w.Code, answer
}

// must asks, and returns the answer to a request that runs.
func (p *program) must(path string, request map[string]any) map[string]any {
	p.t.Helper()
	status, answer := p.ask(path, request)
	if status != http.StatusOK {
		p.t.Fatalf("%s: %d %v", path, status, answer)
	}
	return answer
}

func TestAPI_decidesAndSettles(t *testing.T) {
	p := newProgram(t, embedded.New(embedded.Options{}).Client())
	tokens := func(n int) []any { return []any{map[string]any{"unit": "tokens", "n": n}} }
	chat := map[string]any{"endpoint": "chat", "subjects": []string{"ip=192.0.2.1"}, "estimate": "0.4", "units": tokens(700)}
	first := p.must("/v1/decide", chat)
	if first["allowed"] != true || first["reserved"] != "0.4" || fmt.Sprint(first["reserved_units"]) != "[map[n:700 unit:tokens]]" {
		t.Fatalf("%v", first)
	}
	for _, actual := range []string{"0.1", "0.3"} { // the second has no effect
		p.must("/v1/charges/settle", map[string]any{"charge": first["charge"], "actual": actual, "units": tokens(100)})
	}
	chat["units"] = tokens(400)
	second := p.must("/v1/decide", chat)
	p.must("/v1/charges/settle", map[string]any{"charge": second["charge"], "actual": "0"})
	p.must("/v1/decide", chat)
	fourth := p.must("/v1/decide", chat)
	if fourth["allowed"] != false || fourth["reason"] != "limit" || fourth["charge"] != nil || fmt.Sprint(fourth["retry_after"]) == "0" {
		t.Errorf("the fourth of three: %v", fourth)
	}
	status := p.must("/v1/status", map[string]any{"subject": "ip=192.0.2.1"})
	limit, budget := status["limits"].([]any)[0].(map[string]any), status["budgets"].([]any)[0].(map[string]any)
	if fmt.Sprint(limit["remaining"]) != "0" || budget["spent"] != "0.5" {
		t.Errorf("status: %v %v", limit, budget)
	}

	// A challenge is consumed once, by an endpoint or by the program.
	issue := map[string]any{"subject": "ip=192.0.2.1", "ttl": 60.5}
	token := p.must("/v1/challenges/issue", issue)["token"]
	code := map[string]any{"endpoint": "code", "subjects": []string{"ip=192.0.2.1"}, "challenge": token}
	if a := p.must("/v1/decide", code); a["allowed"] != true || a["challenge"] != "consumed" {
		t.Errorf("%v", a)
	}
	if a := p.must("/v1/decide", code); a["allowed"] != false || a["challenge"] != "replayed" {
		t.Errorf("%v", a)
	}
	token = p.must("/v1/challenges/issue", issue)["token"]
	for _, want := range []string{"consumed", "replayed"} {
		if got := p.must("/v1/challenges/consume", map[string]any{"subject": "ip=192.0.2.1", "token": token})["outcome"]; got != want {
			t.Errorf("consume: %v, want %s", got, want)
		}
	}
	export := map[string]any{"endpoint": "export", "subjects": []string{"ip=192.0.2.1"}}
	held := p.must("/v1/decide", export)
	lease := map[string]any{"charge": held["charge"]}
	if a := p.must("/v1/charges/renew", lease); a["renewed"] != true {
		t.Errorf("renew: %v", a)
	}
	for _, want := range []bool{true, false} {
		if a := p.must("/v1/charges/release", lease); a["released"] != want {
			t.Errorf("release: %v, want %v", a, want)
		}
	}
	if a := p.must("/v1/charges/renew", lease); a["renewed"] != false {
		t.Errorf("renew a released lease: %v", a)
	}
	for path := range p.document["paths"].(map[string]any) {
		if !p.asked[path] {
			t.Errorf("no test asks %s", path)
		}
	}
}

func TestAPI_errorsAreProblems(t *testing.T) {
	p := newProgram(t, embedded.New(embedded.Options{}).Client())
	held := p.must("/v1/decide", map[string]any{"endpoint": "export", "subjects": []string{"ip=192.0.2.1"}})["charge"]
	charged := p.must("/v1/decide", map[string]any{"endpoint": "chat", "subjects": []string{"ip=192.0.2.1"}})["charge"]
	for _, c := range []struct {
		path    string
		request map[string]any
		status  int
		name    string
	}{
		{"/v1/decide", map[string]any{"endpoint": "none"}, 404, "unknown_endpoint"},
		{"/v1/decide", map[string]any{"endpoint": "chat", "subjects": []string{"ada"}}, 400, "bad_request"},
		{"/v1/decide", map[string]any{"endpoint": "chat", "subjects": []string{"ip=192.0.2.1"}, "estimate": "-1"}, 400, "bad_request"},
		{"/v1/decide", map[string]any{"endpoint": "chat"}, 400, "bad_request"},
		{"/v1/decide", map[string]any{"limit": 7}, 400, "bad_request"},
		{"/v1/decide", map[string]any{"endpoint": "login", "other_endpoints": []string{"export"}, "subjects": []string{"ip=192.0.2.1"}}, 400, "bad_request"},
		{"/v1/decide", map[string]any{"endpoint": "login"}, 400, "bad_request"},
		{"/v1/decide", map[string]any{"endpoint": "login", "subjects": []string{"Ip=192.0.2.1"}}, 400, "bad_request"},
		{"/v1/decide", map[string]any{"endpoint": "login", "subjects": []string{"client=192.0.2.1"}}, 400, "bad_request"},
		{"/v1/decide", map[string]any{"endpoint": "login", "subjects": []string{"ip=localhost"}}, 400, "bad_request"},
		{"/v1/decide", map[string]any{"endpoint": "login", "subjects": []string{"ip=192.0.2.1", "ip=192.0.2.2"}}, 400, "bad_request"},
		{"/v1/decide", map[string]any{"endpoint": "chat", "subjects": []string{"ip=192.0.2.1"}, "receipt": "r"}, 400, "bad_request"},
		{"/v1/decide", map[string]any{"Endpoint": "login", "subjects": []string{"ip=192.0.2.1"}}, 400, "bad_request"},
		// A field without effect is an error: without it, the program believes that something is counted or checked.
		{"/v1/decide", map[string]any{"endpoint": "login", "subjects": []string{"ip=192.0.2.1"}, "weight": 2}, 400, "bad_request"},
		{"/v1/decide", map[string]any{"endpoint": "login", "subjects": []string{"ip=192.0.2.1"}, "estimate": "0.1"}, 400, "bad_request"},
		{"/v1/decide", map[string]any{"endpoint": "login", "subjects": []string{"ip=192.0.2.1"}, "challenge": "c"}, 400, "bad_request"},
		{"/v1/decide", map[string]any{"endpoint": "code", "subjects": []string{"ip=192.0.2.1"}, "payload": "p"}, 400, "bad_request"},
		{"/v1/decide", map[string]any{"endpoint": "none", "subjects": []string{"ip=192.0.2.1"}, "weight": 2}, 404, "unknown_endpoint"},
		{"/v1/charges/settle", map[string]any{"charge": "x"}, 400, "bad_request"},
		{"/v1/charges/settle", map[string]any{"charge": held, "actual": "1", "units": []any{map[string]any{"unit": "tokens", "amount": 270}}}, 400, "bad_request"},
		{"/v1/charges/settle", map[string]any{"charge": held, "actual": "1", "units": []any{map[string]any{"unit": "tokens", "n": 1, "N": 2}}}, 400, "bad_request"},
		{"/v1/charges/settle", map[string]any{"charge": "x", "actual": "1"}, 400, "bad_request"},
		{"/v1/charges/settle", map[string]any{"charge": held, "actual": nil}, 400, "bad_request"},
		{"/v1/charges/settle", map[string]any{"charge": held, "actual": "1"}, 400, "bad_request"},                                                               // it has no reservation
		{"/v1/charges/settle", map[string]any{"charge": charged, "actual": "1", "units": []any{map[string]any{"unit": "seconds", "n": 1}}}, 400, "bad_request"}, // of no such unit
		{"/v1/charges/renew", map[string]any{"charge": "x"}, 400, "bad_request"},
		{"/v1/charges/release", map[string]any{}, 400, "bad_request"},
		{"/v1/charges/release", map[string]any{"charge": strings.Repeat("a", 1<<20)}, 413, "too_large"},
		{"/v1/challenges/issue", map[string]any{"subject": "ip=192.0.2.1", "ttl": 1e300}, 400, "bad_request"},
		{"/v1/challenges/consume", map[string]any{"subject": "ip=192.0.2.1"}, 400, "bad_request"},
		{"/v1/challenges/consume", map[string]any{"subject": "ip=1", "token": "t"}, 400, "bad_request"},
		{"/v1/challenges/issue", map[string]any{"subject": "user=1", "ttl": 1}, 400, "bad_request"},
		{"/v1/status", map[string]any{"subject": "ip=192.0.2.1+user=1"}, 400, "bad_request"},
		{"/v1/status", map[string]any{}, 400, "bad_request"},
		{"/v1/status", map[string]any{"subject": strings.Repeat("a", 1<<20)}, 413, "too_large"},
		{"/v2/decide", map[string]any{}, 404, "not_found"},
	} {
		if status, a := p.ask(c.path, c.request); status != c.status || a["error"] != c.name {
			t.Errorf("%s %v: %d %v, want %d %s", c.path, c.request, status, a, c.status, c.name)
		}
	}
	for _, body := range []string{
		"", "null,", `{"endpoint":"chat"}{}`, "{\"endpoint\":\"\xff\"}", `[]`, "null", strings.Repeat("[", 60000),
		`{"endpoint":"chat","subjects":["ip=192.0.2.1"],"payload":"\ud800"}`, `{"endpoint":"chat","subjects":["ip=192.0.2.1"],"payload":"\uDC00x"}`,
	} {
		if w := p.send(http.MethodPost, "/v1/decide", body); w.Code != 400 || !strings.Contains(w.Body.String(), `"bad_request"`) {
			t.Errorf("%.30q: %d %s", body, w.Code, w.Body)
		}
	}
	if w := p.send(http.MethodPost, "/v1/challenges/issue", `{"subject": "ip=1", "ttl": 1e300}`); !strings.Contains(w.Body.String(), "must be less than 9223372037 seconds") {
		t.Errorf("a TTL that overflows: %s", w.Body)
	}
	if w := p.send(http.MethodGet, "/v1/decide", ""); w.Code != 405 || w.Header().Get("Allow") != "POST" || !strings.Contains(w.Body.String(), "method_not_allowed") {
		t.Errorf("GET: %d %s", w.Code, w.Body)
	}
	if w := p.send(http.MethodPost, "/v1/decide", "{}", "Content-Type", "text/plain"); w.Code != 415 {
		t.Errorf("text/plain: %d %s", w.Code, w.Body)
	}
}

func TestAPI_saysWhatIsKnownWithoutRedis(t *testing.T) {
	chat := map[string]any{"endpoint": "chat", "subjects": []string{"ip=192.0.2.1"}}
	charge := newProgram(t, embedded.New(embedded.Options{}).Client()).must("/v1/decide", chat)["charge"]
	p := newProgram(t, redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1}))
	for path, request := range map[string]map[string]any{
		"/v1/status":           {"subject": "ip=192.0.2.1"},
		"/v1/charges/settle":   {"charge": charge, "actual": "1"},
		"/v1/challenges/issue": {"subject": "ip=192.0.2.1", "ttl": 1},
	} {
		if status, a := p.ask(path, request); status != 503 || a["error"] != "limiter_unavailable" {
			t.Errorf("%s: %d %v", path, status, a)
		}
	}
	a := p.must("/v1/decide", chat)
	if a["fallback"] != "local" {
		t.Errorf("%v", a)
	}
}

// A program writes a client in any form, and has the bucket that a request of a proxy has.
func TestAPI_subjectsHaveOneForm(t *testing.T) {
	p := newProgram(t, embedded.New(embedded.Options{}).Client())
	for _, forms := range [][]string{
		{"ip=2001:db8:7::1", "ip=2001:DB8:7::2", "ip=2001:db8:7::/64", "ip=2001:db8:7::ff"},
		{"ip=::ffff:192.0.2.9", "ip=192.0.2.9", "ip=192.0.2.9:443", "ip=192.0.2.9"},
	} {
		for i, form := range forms {
			if a := p.must("/v1/decide", map[string]any{"endpoint": "login", "subjects": []string{form}}); a["allowed"] != (i < 3) {
				t.Errorf("%s: %v", form, a)
			}
		}
		limit := p.must("/v1/status", map[string]any{"subject": forms[0]})["limits"].([]any)
		if fmt.Sprint(limit[len(limit)-1].(map[string]any)["remaining"]) == "3" {
			t.Errorf("status of %s: %v", forms[0], limit)
		}
	}
	token := p.must("/v1/challenges/issue", map[string]any{"subject": "ip=2001:db8:7::1", "ttl": 60})["token"]
	if got := p.must("/v1/challenges/consume", map[string]any{"subject": "ip=2001:db8:7::2", "token": token})["outcome"]; got != "consumed" {
		t.Errorf("consume by another address of the prefix: %v", got)
	}
}

func TestAPI_aReceiptIsChargedOnce(t *testing.T) {
	p := newProgram(t, embedded.New(embedded.Options{}).Client())
	login := map[string]any{"endpoint": "login", "subjects": []string{"ip=192.0.2.1"}, "receipt": "\u2713\U0001F511"}
	for i, want := range []bool{false, true, true, false} {
		if a := p.must("/v1/decide", login); a["allowed"] != true || a["duplicate"] != want {
			t.Errorf("call %d: %v", i+1, a)
		}
	}
	if w := p.send(http.MethodPost, "/v1/decide", `{"endpoint":"login","subjects":["ip=192.0.2.1"],"receipt":"\u2713\ud83d\udd11\\ud800"}`); w.Code != http.StatusOK {
		t.Errorf("a pair of surrogates: %d %s", w.Code, w.Body)
	}
}

func TestAuthorize_passesOnKnownTokensOnly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, fmt.Appendf(nil, "%x billing\n", sha256.Sum256([]byte("secret"))), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := Authorize(t.Context(), file, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		lines []string
		want  int
	}{
		{[]string{"Bearer secret"}, 200},
		{[]string{"bearer secret"}, 200},
		{nil, 401},
		{[]string{"Bearer wrong"}, 401},
		{[]string{"Bearer "}, 401},
		{[]string{"secret"}, 401},
		{[]string{"Basic secret"}, 401},
		{[]string{"Bearer secret", "Bearer wrong"}, 401},
	} {
		r := httptest.NewRequest(http.MethodPost, "/v1/decide", nil)
		r.Header["Authorization"] = c.lines
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.want || (w.Code == 401) != (w.Header().Get("WWW-Authenticate") == "Bearer") {
			t.Errorf("%q: %d %s", c.lines, w.Code, w.Body)
		}
	}
}
