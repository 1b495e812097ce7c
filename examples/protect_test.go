package examples

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

const protect = "../docs/protect-a-service.md"

// guardBy returns a guard by a policy on an embedded server whose clock stands still.
func guardBy(text string) *guard.Guard {
	limits, err := policy.Parse("limits.yaml", []byte(text))
	must(err)
	limits.Timeout = time.Minute // on a busy machine, a slow answer is no failure
	rdb := embedded.New(embedded.Options{Clock: embedded.NewManualClock(now)}).Client()
	g, err := guard.New(rdb, limits, guard.Options{})
	must(err)
	return g
}

func protected(g *guard.Guard, next http.HandlerFunc) http.Handler {
	m, err := httpguard.New(g, httpguard.Options{})
	must(err)
	return m.Handler(next)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// Each response of docs/protect-a-service.md is what the policy above it answers once it refuses.
func TestProtect_responsesAreReal(t *testing.T) {
	part := regexp.MustCompile("(?ms)^```(yaml|http)\n(.*?)^```")
	rules, seen := "", 0
	for _, m := range part.FindAllStringSubmatch(read(t, protect), -1) {
		if m[1] == "yaml" {
			rules = m[2]
			continue
		}
		seen++
		g := guardBy(rules)
		h := protected(g, func(http.ResponseWriter, *http.Request) {})
		w := httptest.NewRecorder()
		for range 1000 {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/chat", nil)
			w = httptest.NewRecorder()
			if h.ServeHTTP(w, r); w.Code != http.StatusOK {
				break
			}
		}
		var got strings.Builder
		fmt.Fprintf(&got, "HTTP/1.1 %d %s\n", w.Code, http.StatusText(w.Code))
		for name, values := range w.Header() {
			fmt.Fprintf(&got, "%s: %s\n", name, strings.Join(values, ", "))
		}
		got.WriteString("\n" + w.Body.String())
		for line := range strings.Lines(m[2]) {
			if !strings.Contains("\n"+got.String(), "\n"+line) {
				t.Errorf("no answer has the page's line\n%sbut\n%s", line, got.String())
			}
		}
		_ = g.Close()
	}
	if seen != 1 {
		t.Errorf("%d responses", seen)
	}
}

func chat(w http.ResponseWriter, r *http.Request) {
	answer, spent := askModel(r.FormValue("question")) // in millionths of your currency
	if err := httpguard.FromContext(r.Context()).Charge.Settle(r.Context(), spent); err != nil {
		slog.Error("the estimate counts", "error", err)
	}
	fmt.Fprintln(w, answer)
}

func askModel(string) (answer string, spent fcall.Micros) { return "hello", 150_000 }

func Example_settle() {
	g := guardBy(`
budgets: [{name: day, by: ip, budget: 1.00, window: 1d}]
endpoints: [{name: chat, match: ["/v1/chat"], cost: {estimate: 0.40}, unbounded: true}]
`)
	protected(g, chat).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/chat", nil))
	d, err := g.Decide(context.Background(), guard.Request{Endpoint: "chat", Subjects: []string{"ip=192.0.2.1"}})
	must(err)
	fmt.Println("spent 0.15, and reserved 0.40 for another:", d.Budgets[0].Spent)
	must(g.Close())
	// Output: spent 0.15, and reserved 0.40 for another: 0.550000
}

// deliver sends one event to a customer when the customer's limits allow it.
func deliver(ctx context.Context, g *guard.Guard, customer string, send func(context.Context) error) error {
	d, err := g.Wait(ctx, guard.Request{Endpoint: "deliver", Subjects: []string{"customer=" + customer}})
	if err != nil {
		return err
	}
	if !d.Allowed { // no wait helps, for example because an operator denies the customer
		return fmt.Errorf("deliver to %s: refused by %s", customer, d.Reason)
	}
	defer d.Charge.End(ctx, guard.End{}) // the middleware does this for you
	return send(ctx)
}

func Example_deliver() {
	g := guardBy(`
identities: {customer: {func: true}}
endpoints: [{name: deliver, unbounded: true, limits: [{name: at_once, by: customer, kind: concurrency, limit: 2}]}]
overrides: {deny: [customer=8]}
`)
	fmt.Println(deliver(context.Background(), g, "7", func(context.Context) error { return nil }))
	fmt.Println(deliver(context.Background(), g, "8", func(context.Context) error { return nil }))
	must(g.Close())
	// Output:
	// <nil>
	// deliver to 8: refused by denied
}
