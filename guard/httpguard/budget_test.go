package httpguard_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
)

const tenAnswers = `
budgets: [{name: day, budget: "1.00", window: 24h}]
endpoints: [{name: chat, match: ["/"], unbounded: true, cost: {estimate: "0.10"}}]`

// overBoth runs a test over HTTP/1.1 and HTTP/2, with a budget for ten responses.
func overBoth(t *testing.T, handler http.HandlerFunc, test func(t *testing.T, server *httptest.Server)) {
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(protocol, func(t *testing.T) {
			rdb, _ := inProcess(t)
			g, err := guard.New(rdb, parse(t, tenAnswers), guard.Options{CacheSize: -1})
			if err != nil {
				t.Fatal(err)
			}
			m, err := httpguard.New(g, httpguard.Options{Code: keys})
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewUnstartedServer(m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Proto != protocol {
					t.Errorf("got %s", r.Proto)
				}
				handler(w, r)
			})))
			server.Config.ErrorLog = quiet
			server.EnableHTTP2 = protocol == "HTTP/2.0"
			server.StartTLS()
			t.Cleanup(func() {
				server.Close()
				if err := g.Close(); err != nil {
					t.Error(err)
				}
			})
			test(t, server)
		})
	}
}

// answered sends a request, reads the first line of the response, and disconnects.
func answered(t *testing.T, server *httptest.Server) bool {
	t.Helper()
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-API-Key", "ada")
	response, err := server.Client().Do(r)
	if err != nil {
		t.Error(err)
		return false
	}
	defer response.Body.Close()
	line, err := bufio.NewReader(response.Body).ReadString('\n')
	if err != nil {
		t.Error(err)
	}
	return response.StatusCode == http.StatusOK && line == "hello\n"
}

// The client reads the whole response and disconnects before the handler returns.
func TestBudget_answeredClientIsCharged(t *testing.T) {
	for name, write := range map[string]func(http.ResponseWriter){
		"written":  func(w http.ResponseWriter) { _, _ = w.Write([]byte("hello\n")) },
		"a string": func(w http.ResponseWriter) { _, _ = io.WriteString(w, "hello\n") },
		"copied":   func(w http.ResponseWriter) { _, _ = io.Copy(w, strings.NewReader("hello\n")) },
	} {
		for _, end := range []string{"returns", "panics"} {
			t.Run(name+", "+end, func(t *testing.T) {
				overBoth(t, func(w http.ResponseWriter, r *http.Request) {
					write(w)
					w.(http.Flusher).Flush()
					<-r.Context().Done()
					if end == "panics" {
						panic(http.ErrAbortHandler)
					}
				}, func(t *testing.T, server *httptest.Server) {
					answers := 0
					for range 40 {
						if answered(t, server) {
							answers++
						}
					}
					if answers != 10 {
						t.Errorf("%d answers of a budget for 10", answers)
					}
				})
			})
		}
	}
}
