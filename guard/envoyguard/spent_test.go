package envoyguard_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	filterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/envoyguard"
)

const tokens = `
timeout: 10s
identities:
  user: {header: X-User, claimed: true}
budgets:
  - {name: user, by: user, unit: tokens, budget: 1000, window: 1m}
  - {name: all, by: all, unit: tokens, budget: 100000, window: 1h}
  - {name: images, by: user, unit: images, budget: 3, window: 1m}
  - {name: money, by: user, budget: 1, window: 1m}
endpoints:
  - {name: chat, cost: {}, limits: [{name: fast, by: all, kind: fixed_window, limit: 20, window: 1s}]}
  - {name: long, cost: {estimate: 0.1, units: {tokens: 400}}, limits: [{name: slow, by: all, kind: fixed_window, limit: 20, window: 1s}]}
descriptors:
  - {domain: edge, entries: [{key: user, identity: user}], endpoint: chat, unit: tokens}
  - {domain: edge, entries: [{key: images, identity: user}], endpoint: chat, unit: images}
  - {domain: edge, entries: [{key: long, identity: user}], endpoint: long, unit: tokens}
`

// spending returns a request of descriptors with their hits_addend, as Envoy sends it at both ends of a stream.
func spending(hits uint64, descriptors ...*commonv3.RateLimitDescriptor) *ratelimitv3.RateLimitRequest {
	for _, d := range descriptors {
		d.HitsAddend = wrapperspb.UInt64(hits)
	}
	return edge(descriptors...)
}

func user(name string) *commonv3.RateLimitDescriptor { return descriptor("user", name) }

// start is a check at the start of a stream; it reports whether the request passes.
func (f *fixture) start(t *testing.T, descriptors ...*commonv3.RateLimitDescriptor) bool {
	t.Helper()
	return f.ask(t, spending(0, descriptors...)).Code == "OK"
}

// end records what a stream has spent.
func (f *fixture) end(t *testing.T, hits uint64, descriptors ...*commonv3.RateLimitDescriptor) answer {
	t.Helper()
	return f.ask(t, spending(hits, descriptors...))
}

// spent returns what is spent of each budget of a client.
func (f *fixture) spent(t *testing.T, name string) map[string]int64 {
	t.Helper()
	d, err := f.guard.Decide(t.Context(), guard.Request{Endpoint: "chat", Subjects: []string{"user=" + name}, Unreserved: []string{"tokens", "images"}})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]int64{}
	for _, b := range d.Budgets {
		all[b.Name] = int64(b.Spent) / 1_000_000
	}
	return all
}

var (
	ended    = answer{Code: "OK", Statuses: []string{"OK"}}
	exceeded = answer{Code: "OVER_LIMIT", Statuses: []string{"OVER_LIMIT"}, Error: "budget"}
)

func TestSpent_isRecordedInFull(t *testing.T) {
	f := serve(t, tokens)
	for _, step := range []struct {
		spends uint64
		passes bool
		answer answer
	}{
		{spends: 999, passes: true, answer: ended}, // which leaves 1
		{spends: 1, passes: true, answer: ended},   // which is exactly the budget
		{spends: 4000, passes: false, answer: exceeded},
	} {
		if got := f.start(t, user("ada")); got != step.passes {
			t.Errorf("before %d more: passes %v", step.spends, got)
		}
		if diff := cmp.Diff(step.answer, f.end(t, step.spends, user("ada"))); diff != "" {
			t.Errorf("%d more (-want +got):\n%s", step.spends, diff)
		}
	}
	f.expect(t, spending(0, user("ada")), answer{Code: "OVER_LIMIT", Statuses: []string{"OVER_LIMIT"}, Error: "budget", Headers: map[string]string{"retry-after": "60"}})
	if !f.start(t, user("bob")) {
		t.Error("another client does not pass")
	}
	if diff := cmp.Diff(map[string]int64{"user": 5000, "all": 5000, "images": 0, "money": 0}, f.spent(t, "ada")); diff != "" {
		t.Errorf("spent (-want +got):\n%s", diff)
	}
	f.clock.Advance(time.Minute)
	if !f.start(t, user("ada")) {
		t.Error("refused a minute later")
	}
}

// Nothing is reserved at the start, so a stream that never ends costs nothing, and streams at the same time may exceed a budget together.
func TestSpent_nothingIsReserved(t *testing.T) {
	f := serve(t, tokens)
	for range 5 {
		if !f.start(t, user("ada")) {
			t.Error("refused")
		}
	}
	if keys := f.redis.Keys(t.Context(), "*charges:tokens").Val(); len(keys) > 0 {
		t.Errorf("checks wrote %v", keys)
	}
	for i := range 5 {
		if got := f.end(t, 400, user("ada")); (got.Code == "OK") != (i < 2) {
			t.Errorf("stream %d: %+v", i+1, got)
		}
	}
	if got := f.spent(t, "ada")["user"]; got != 2000 {
		t.Errorf("spent %d", got)
	}
}

// The policy's estimate must fit; the estimates of money are reserved and charged as without a unit.
func TestSpent_theEstimateMustFit(t *testing.T) {
	f := serve(t, tokens)
	long := func() *commonv3.RateLimitDescriptor { return descriptor("long", "ada") }
	f.end(t, 600, long())
	for range 3 { // 400 are left
		if !f.start(t, long()) {
			t.Error("an estimate of 400 of 400 does not pass")
		}
	}
	f.end(t, 1, long())
	if f.start(t, long()) || !f.start(t, user("ada")) {
		t.Error("399 are left: want 400 refused, and 1 to pass")
	}
	d, err := f.guard.Decide(t.Context(), guard.Request{Endpoint: "chat", Subjects: []string{"user=ada"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range d.Budgets {
		if b.Name == "money" && b.Spent != 300_000 || b.Name == "user" && b.Spent != 601_000_000 {
			t.Errorf("%s: %v spent", b.Name, b.Spent)
		}
	}
}

func TestSpent_withoutUsage(t *testing.T) {
	f := serve(t, tokens)
	f.end(t, 1000, user("ada"))
	missing := edge(user("ada"))
	for _, r := range []*ratelimitv3.RateLimitRequest{spending(0, user("ada")), missing} {
		if got := f.ask(t, r); got.Error != "budget" {
			t.Errorf("%v is no check: %+v", r, got)
		}
	}
	if got := f.spent(t, "ada")["user"]; got != 1000 {
		t.Errorf("spent %d", got)
	}
	missing.HitsAddend = 7 // of the request, which Envoy takes from the filter state
	f.ask(t, missing)
	if got := f.spent(t, "ada")["user"]; got != 1007 {
		t.Errorf("spent %d", got)
	}
}

func TestSpent_hugeNumbers(t *testing.T) {
	f := serve(t, tokens)
	const most = 1_000_000_000_000_000
	refused := answer{Code: "OVER_LIMIT", Statuses: []string{"OVER_LIMIT"}, Error: "bad_request"}
	for _, hits := range []uint64{most + 1, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64} {
		if diff := cmp.Diff(refused, f.end(t, hits, user("ada"))); diff != "" {
			t.Errorf("%d (-want +got):\n%s", hits, diff)
		}
	}
	if got := f.spent(t, "ada")["user"]; got != 0 {
		t.Errorf("spent %d", got)
	}
	for i := range 10 { // 2^53 - 1 are the most of an account
		want := exceeded
		if i == 9 {
			want = refused
		}
		if diff := cmp.Diff(want, f.end(t, most, user("ada"))); diff != "" {
			t.Errorf("call %d (-want +got):\n%s", i+1, diff)
		}
	}
}

// A number at the start is recorded as at the end, so an answer to it must not be a free pass.
func TestSpent_atTheStartIsNoFreePass(t *testing.T) {
	f := serve(t, tokens)
	for i := range 4 {
		if got := f.end(t, 300, user("ada")); (got.Code == "OK") != (i < 3) {
			t.Errorf("request %d: %+v", i+1, got)
		}
	}
	refused := answer{Code: "OVER_LIMIT", Statuses: []string{"OVER_LIMIT"}, Error: "bad_request"}
	if diff := cmp.Diff(refused, f.end(t, 5, user(""))); diff != "" {
		t.Errorf("without a client (-want +got):\n%s", diff)
	}
	r := spending(5, user("ada"))
	r.Descriptors[0].IsNegativeHits = true
	f.expect(t, r, answer{Code: "Unimplemented"})
}

// Descriptors of several units and of both ends may be in one request. Limits count a check, and nothing that was spent.
func TestSpent_severalDescriptors(t *testing.T) {
	f := serve(t, tokens)
	both := edge(user("ada"), descriptor("images", "ada"), user("bob"))
	for i, hits := range []uint64{900, 4, 0} {
		both.Descriptors[i].HitsAddend = wrapperspb.UInt64(hits)
	}
	f.expect(t, both, answer{Code: "OVER_LIMIT", Statuses: []string{"OK", "OVER_LIMIT", "OK"}, Error: "budget"})
	if diff := cmp.Diff(map[string]int64{"user": 900, "all": 900, "images": 4, "money": 0}, f.spent(t, "ada")); diff != "" {
		t.Errorf("spent (-want +got):\n%s", diff)
	}
	for range 50 {
		f.end(t, 1, user("bob"))
	}
	for i := range 20 { // after the check of bob
		if got := f.start(t, user("bob")); got != (i < 19) {
			t.Errorf("request %d: passes %v", i+2, got)
		}
	}
}

// Envoy does not wait for the answer at the end of a stream.
func TestSpent_isRecordedWithoutEnvoy(t *testing.T) {
	f := serve(t, tokens)
	s, err := envoyguard.New(f.guard, envoyguard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, _ = s.ShouldRateLimit(gone, spending(700, user("ada")))
	_ = f.guard.Close() // waits for work in the background
	if got := f.spent(t, "ada")["user"]; got != 700 {
		t.Errorf("spent %d", got)
	}
}

func TestSpent_withoutRedis(t *testing.T) {
	unavailable := answer{Code: "OVER_LIMIT", Statuses: []string{"OVER_LIMIT"}, Error: "limiter_unavailable"}
	for mode, passes := range map[string]bool{"open": true, "local": true, "closed": false} {
		f := serve(t, "on_failure: "+mode+"\n"+tokens)
		_ = f.redis.Close()
		if got := f.start(t, user("ada")); got != passes {
			t.Errorf("%s: passes %v", mode, got)
		}
		if diff := cmp.Diff(unavailable, f.end(t, 5, user("ada"))); diff != "" {
			t.Errorf("%s: to record (-want +got):\n%s", mode, diff)
		}
	}
}

// An Envoy sends what the route of docs/serve.md says, of a request with headers and the metadata of its response.
type envoy struct {
	*fixture
	route   *filterv3.RateLimitPerRoute
	headers map[string]string
}

func (e *envoy) send(t *testing.T, done bool, metadata map[string]uint64) (answer, error) {
	r := &ratelimitv3.RateLimitRequest{Domain: e.route.Domain}
	for _, l := range e.route.RateLimits {
		if l.ApplyOnStreamDone != done {
			continue
		}
		d := new(commonv3.RateLimitDescriptor)
		for _, a := range l.Actions {
			entry := &commonv3.RateLimitDescriptor_Entry{Key: a.GetGenericKey().GetDescriptorKey(), Value: a.GetGenericKey().GetDescriptorValue()}
			if h := a.GetRequestHeaders(); h != nil {
				entry.Key, entry.Value = h.DescriptorKey, e.headers[h.HeaderName]
			}
			d.Entries = append(d.Entries, entry)
		}
		d.HitsAddend = l.HitsAddend.GetNumber()
		if format := l.HitsAddend.GetFormat(); format != "" {
			n, known := metadata[strings.TrimSuffix(strings.TrimPrefix(format, "%DYNAMIC_METADATA("), ")%")]
			if !known {
				continue
			}
			d.HitsAddend = wrapperspb.UInt64(n)
		}
		r.Descriptors = append(r.Descriptors, d)
	}
	if len(r.Descriptors) == 0 {
		return answer{}, errors.New("Envoy sends nothing")
	}
	return e.ask(t, r), nil
}

// The policy and the route of docs/serve.md charge a response, and are what Envoy's interface allows.
func TestSpent_asThePageConfiguresEnvoy(t *testing.T) {
	page, err := os.ReadFile("../../docs/serve.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "### Tokens charged after the response\n")
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(section, 2)
	if len(blocks) != 2 {
		t.Fatal("the page has no policy and no route")
	}
	json, err := yaml.YAMLToJSON([]byte(blocks[1][1]))
	if err != nil {
		t.Fatal(err)
	}
	var route routev3.Route
	var limits filterv3.RateLimitPerRoute
	if err := errors.Join(protojson.Unmarshal(json, &route), route.ValidateAll(), route.GetTypedPerFilterConfig()["envoy.filters.http.ratelimit"].UnmarshalTo(&limits), limits.ValidateAll()); err != nil {
		t.Fatal(err)
	}
	keys := filepath.Join(t.TempDir(), "keys.txt")
	policy := strings.NewReplacer("keys.txt", keys, "every: month", "window: 720h").Replace(blocks[0][1]) // the test's clock is in no current month
	if err := os.WriteFile(keys, fmt.Appendf(nil, "%x ada\n", sha256.Sum256([]byte("secret"))), 0o600); err != nil {
		t.Fatal(err)
	}
	e := &envoy{
		fixture: serve(t, "timeout: 10s\n"+policy), route: &limits, headers: map[string]string{"x-api-key": "secret"},
	}
	for i, used := range []uint64{39_995, 3000, 0} {
		got, err := e.send(t, false, nil)
		if err != nil || (got.Code == "OK") != (i < 2) {
			t.Errorf("request %d: %+v, %v", i+1, got, err)
		}
		if got.Code != "OK" {
			if _, err := e.send(t, true, nil); err == nil || got.Headers["retry-after"] != "60" {
				t.Errorf("refused: %+v, and Envoy sends usage", got)
			}
			continue
		}
		if _, err := e.send(t, true, map[string]uint64{"io.envoy.ai_gateway:llm_total_token": used}); err != nil {
			t.Error(err)
		}
	}
	e.headers["x-api-key"] = "guessed"
	if got, err := e.send(t, false, nil); err != nil || got.Error != "bad_request" {
		t.Errorf("an unknown key: %+v, %v", got, err)
	}
}
