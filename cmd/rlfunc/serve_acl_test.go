package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/serve"
)

const servedLimits = `
timeout: 10s
budgets: [{name: day, budget: "1.00", window: 24h}]
endpoints:
  - {name: chat, cost: {estimate: "0.25"}, limits: [{name: hour, limit: 3, window: 1h}]}
  - {name: export, limits: [{name: exports, kind: concurrency, limit: 10, lease: 30s}]}
`

// serving runs serve with an API, as the user of an URL. It returns the ports and the log.
func serving(t *testing.T, redisURL string) (web, api string, log *bytes.Buffer, stop func()) {
	t.Helper()
	connect, err := redis.ParseURL(redisURL)
	if err != nil {
		t.Fatal(err)
	}
	o := serve.Options{Redis: redis.NewClient(connect), Policy: filepath.Join(t.TempDir(), "limits.yaml")}
	write(t, o.Policy, servedLimits)
	for _, port := range []*net.Listener{&o.GRPC, &o.HTTP, &o.API} {
		if *port, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	log = new(bytes.Buffer)
	o.Logger = slog.New(slog.NewTextHandler(log, nil))
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve.Run(ctx, o) }()
	return "http://" + o.HTTP.Addr().String(), "http://" + o.API.Addr().String(), log, func() {
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = o.Redis.Close()
	}
}

// awaitText gets a URL until its body has a text.
func awaitText(t *testing.T, url, text string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		r, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if strings.Contains(string(body), text) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %s, want %s", url, body, text)
		}
	}
}

// Serve is ready, and answers, as the Redis users that docs/serve.md and the manifests name.
func TestServe_runsAsTheUserOfTheDocs(t *testing.T) {
	lines := map[string]string{}
	for _, file := range []string{"../../docs/serve.md", "../../deploy/serve/kubernetes-libraries.yaml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, words := range regexp.MustCompile("rlfunc acl (service [a-z -]*[a-z])").FindAllStringSubmatch(string(text), -1) {
			lines[words[1]] = aclLine(t, strings.Fields(words[1])...)
		}
	}
	if len(lines) != 2 {
		t.Fatalf("the pages name %v", lines)
	}
	for _, e := range engines.Real(t) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			admin := e.Client(t)
			for words, line := range lines {
				serveAs(t, e, admin, line, words == "service guard")
			}
		})
	}
}

// serveAs runs serve as the user in a line of `rlfunc acl`. decides is whether the user may only decide.
func serveAs(t *testing.T, e engines.Engine, admin *redis.Client, line string, decides bool) {
	t.Helper()
	web, api, log, stop := serving(t, as(t, e, admin, line))
	awaitText(t, web+"/readyz", "not loaded")
	if code, said := rlfunc("deploy", "--yes", "--redis", e.URL); code != exitOK {
		t.Fatal(said)
	}
	awaitText(t, web+"/readyz", "ok\n")
	post := func(path, body string) string {
		r, err := http.Post(api+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		answer, _ := io.ReadAll(r.Body)
		return string(answer)
	}
	if a := post("/v1/decide", `{"endpoint": "export", "subjects": ["ip=192.0.2.1"]}`); !strings.Contains(a, `"charge":`) {
		t.Errorf("decide: %s", a)
	}
	var unsettled struct{ Charge string }
	must(t, json.Unmarshal([]byte(post("/v1/decide", `{"endpoint": "chat", "subjects": ["ip=192.0.2.1"]}`)), &unsettled))
	if a := post("/v1/charges/settle", fmt.Sprintf(`{"charge": %q, "actual": "0.1"}`, unsettled.Charge)); a != "{}\n" && a != "{}" {
		t.Errorf("settle: %s", a)
	}
	for path, body := range map[string]string{
		"/v1/challenges/issue": `{"subject": "ip=192.0.2.1", "ttl": 60}`, "/v1/status": `{"subject": "ip=192.0.2.1"}`,
		"/v1/challenges/consume": `{"subject": "ip=192.0.2.1", "token": "0123456789abcdef0123456789abcdef"}`,
	} {
		for range 2 {
			a := post(path, body)
			if denied := strings.Contains(a, `"status":500`) && strings.Contains(a, `"error":"no_permission"`); denied != decides || !denied && strings.Contains(a, `"error":`) {
				t.Errorf("%s: %s", path, a)
			}
		}
	}
	must(t, admin.FunctionFlush(t.Context()).Err())
	awaitText(t, web+"/readyz", "ok, but failure modes decide: redis: guard.peek: ")
	stop()
	for text, want := range map[string]int{"msg=\"not ready\"": 1, "msg=ready\n": 1, "msg=\"ready, but failure modes decide\"": 1, "operation=/v1/status": 1} {
		if !decides && strings.HasPrefix(text, "operation") {
			want = 0
		}
		if got := strings.Count(log.String(), text); got != want {
			t.Errorf("%d records of %s, want %d:\n%s", got, text, want, log)
		}
	}
}
