package httpguard_test

import (
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dunglas/httpsfv"
	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/guard/httpguard"
)

// checkHeaders checks a response against RFC 9651 and to draft-ietf-httpapi-ratelimit-headers-11.
func checkHeaders(t *testing.T, h http.Header) {
	t.Helper()
	retry, waits := int64(-1), h.Get("Retry-After") != ""
	if waits {
		var err error
		if retry, err = strconv.ParseInt(h.Get("Retry-After"), 10, 64); err != nil || retry < 1 {
			t.Errorf("Retry-After: %q", h.Get("Retry-After"))
		}
	}
	names := map[string][]string{}
	for field, params := range map[string][]string{"RateLimit": {"r", "t"}, "RateLimit-Policy": {"q", "w"}} {
		lines := h.Values(field)
		if len(lines) == 0 {
			continue
		}
		list, err := httpsfv.UnmarshalList(lines)
		if err != nil {
			t.Errorf("%s: %q: %v", field, lines, err)
			continue
		}
		if text, err := httpsfv.Marshal(list); err != nil || text != strings.Join(lines, ", ") {
			t.Errorf("%s: %q is written canonically as %q: %v", field, lines, text, err)
		}
		for _, member := range list {
			item, ok := member.(httpsfv.Item)
			name, text := item.Value.(string)
			if !ok || !text {
				t.Errorf("%s: %q has an item that is not a string", field, lines)
				continue
			}
			names[field] = append(names[field], name)
			for _, key := range item.Params.Names() {
				value, _ := item.Params.Get(key)
				if key == "qu" && params[0] == "q" && value == "concurrent-requests" {
					continue
				}
				n, whole := value.(int64)
				if !whole || n < 0 || key != params[0] && key != params[1] {
					t.Errorf("%s: %q: %s=%v", field, lines, key, value)
				}
				if key == "t" && waits && n > retry {
					t.Errorf("Retry-After %d is earlier than t of %q", retry, lines)
				}
			}
		}
	}
	if diff := cmp.Diff(names["RateLimit-Policy"], names["RateLimit"]); diff != "" {
		t.Errorf("RateLimit-Policy and RateLimit name (-first +second):\n%s", diff)
	}
}

const twoLimits = `
limits: [{name: hour, kind: sliding_counter, limit: 100, window: 1h}]
endpoints:
  - name: chat
    match: ["/"]
    limits:
      - {name: minute, limit: 2, window: 1m}
      - {name: rate, kind: gcra, limit: 10, window: 1s, burst: 50}
      - {name: dark, limit: 1, window: 1m, shadow: true}
      - {name: all, by: all, kind: gcra, limit: 1000, window: 1s}
`

func TestHeaders_ofEachRevision(t *testing.T) {
	type seen map[string]string
	for name, c := range map[string]struct {
		options httpguard.Options
		want    []seen // of the first, second and third request
	}{
		"draft 11": {httpguard.Options{}, []seen{
			{"RateLimit": `"hour";r=99;t=7200, "minute";r=1;t=60, "rate";r=49;t=1`, "RateLimit-Policy": `"hour";q=100;w=3600, "minute";q=2;w=60, "rate";q=50;w=1`},
			{"RateLimit": `"hour";r=98;t=7200, "minute";r=0;t=60, "rate";r=48;t=1`, "RateLimit-Policy": `"hour";q=100;w=3600, "minute";q=2;w=60, "rate";q=50;w=1`},
			{"RateLimit": `"minute";r=0;t=60`, "RateLimit-Policy": `"minute";q=2;w=60`, "Retry-After": "60"},
		}},
		"draft 6": {httpguard.Options{Headers: httpguard.Draft06}, []seen{
			{"RateLimit-Limit": "2", "RateLimit-Remaining": "1", "RateLimit-Reset": "60"},
			{"RateLimit-Limit": "2", "RateLimit-Remaining": "0", "RateLimit-Reset": "60"},
			{"RateLimit-Limit": "2", "RateLimit-Remaining": "0", "RateLimit-Reset": "60", "Retry-After": "60"},
		}},
		"none but X": {httpguard.Options{Headers: httpguard.NoHeaders, XHeaders: true}, []seen{
			{"X-Ratelimit-Limit": "2", "X-Ratelimit-Remaining": "1", "X-Ratelimit-Reset": "60"},
			{"X-Ratelimit-Limit": "2", "X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": "60"},
			{"X-Ratelimit-Limit": "2", "X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": "60", "Retry-After": "60"},
		}},
		"none": {httpguard.Options{Headers: httpguard.NoHeaders}, []seen{{}, {}, {"Retry-After": "60"}}},
	} {
		t.Run(name, func(t *testing.T) {
			rdb, _ := inProcess(t)
			s := serve(t, rdb, parse(t, twoLimits), c.options, nil)
			for i, want := range c.want {
				response, _ := s.ask(t, "GET /")
				checkHeaders(t, response.Header)
				got := seen{}
				for field := range response.Header {
					if low := strings.ToLower(field); strings.Contains(low, "ratelimit") || low == "retry-after" {
						got[map[bool]string{true: strings.Replace(field, "Ratelimit", "RateLimit", 1), false: field}[!strings.HasPrefix(field, "X-")]] = response.Header.Get(field)
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("request %d (-want +got):\n%s", i+1, diff)
				}
			}
		})
	}
}

// A refusal by what responses do not list has no fields: those of a limit that admits would have clients wait for the wrong time.
func TestHeaders_ofARefusalDescribeWhatRefused(t *testing.T) {
	const hour, chat = `limits: [{name: hour, limit: 9, window: 1h}`, `endpoints: [{name: chat, match: ["/"]`
	type told struct{ name, limit, remaining, reset, window string }
	for name, c := range map[string]struct {
		policy string
		weight int64
		before int // requests
		told   told
		wait   string
	}{
		"a limit":          {hour + ", {name: minute, limit: 1, window: 1m}]\n" + chat + "}]", 1, 1, told{"minute", "1", "0", "60", "60"}, "60"},
		"a heavy request":  {hour + ", {name: rate, kind: gcra, limit: 10, burst: 30, window: 10s}]\n" + chat + "}]", 20, 1, told{"rate", "30", "10", "10", "10"}, "10"},
		"a global limit":   {hour + ", {name: all, by: all, limit: 1, window: 1m}]\n" + chat + "}]", 1, 1, told{}, "60"},
		"the same, cached": {hour + ", {name: all, by: all, limit: 1, window: 1m}]\n" + chat + "}]", 1, 2, told{}, "60"},
		"attempts":         {hour + "]\nblocks: [{name: many, attempts: all, tiers: [{threshold: 2, window: 1m, block: 5m}]}]\n" + chat + ", block: many}]", 1, 1, told{}, "300"},
		"a block":          {hour + "]\nblocks: [{name: many, attempts: all, tiers: [{threshold: 2, window: 1m, block: 5m}]}]\n" + chat + ", block: many}]", 1, 2, told{}, "300"},
		"a budget":         {hour + `]` + "\n" + `budgets: [{name: day, budget: "1.00", window: 1m}]` + "\n" + chat + `, cost: {estimate: "0.60"}}]`, 1, 1, told{}, "60"},
		"a challenge":      {hour + "]\n" + chat + ", challenge: {required: true}}]", 1, 0, told{}, ""},
	} {
		want := map[string]map[string]string{"draft 11": {}, "draft 6": {}, "X": {}}
		for _, fields := range want {
			if c.wait != "" {
				fields["Retry-After"] = c.wait
			}
		}
		if l := c.told; l.name != "" {
			want["draft 11"]["Ratelimit"] = fmt.Sprintf("%q;r=%s;t=%s", l.name, l.remaining, l.reset)
			want["draft 11"]["Ratelimit-Policy"] = fmt.Sprintf("%q;q=%s;w=%s", l.name, l.limit, l.window)
			for revision, prefix := range map[string]string{"draft 6": "Ratelimit-", "X": "X-Ratelimit-"} {
				want[revision][prefix+"Limit"], want[revision][prefix+"Remaining"], want[revision][prefix+"Reset"] = l.limit, l.remaining, l.reset
			}
		}
		for revision, options := range map[string]httpguard.Options{
			"draft 11": {}, "draft 6": {Headers: httpguard.Draft06}, "X": {Headers: httpguard.NoHeaders, XHeaders: true},
		} {
			t.Run(name+", "+revision, func(t *testing.T) {
				rdb, _ := inProcess(t)
				options.Weight = func(*http.Request) int64 { return c.weight }
				s := serveWith(t, rdb, parse(t, c.policy), guardOptions(1000), options, nil)
				for range c.before {
					s.ask(t, "GET /")
				}
				response, body := s.ask(t, "GET /")
				checkHeaders(t, response.Header)
				got := map[string]string{}
				for field := range response.Header {
					if strings.Contains(field, "Ratelimit") || field == "Retry-After" {
						got[field] = response.Header.Get(field)
					}
				}
				if diff := cmp.Diff(want[revision], got); diff != "" || response.StatusCode < 400 {
					t.Errorf("%s (-want +got):\n%s", body, diff)
				}
			})
		}
	}
}

// A cached refusal reports the remaining wait.
func TestHeaders_ofACachedRefusalAge(t *testing.T) {
	rdb, _ := inProcess(t)
	s := serveWith(t, rdb, parse(t, `endpoints: [{name: chat, match: ["/"], limits: [{name: minute, limit: 1, window: 1m}]}]`), guardOptions(1000), httpguard.Options{}, nil)
	s.get(t)
	s.get(t)
	eventually(t, "a second of a cached refusal has passed", func() bool {
		a := s.get(t)
		if a.Status != 429 || a.RateLimit != `"minute";r=0;t=`+a.RetryAfter {
			t.Fatalf("%+v", a)
		}
		return a.RetryAfter == "59" // the clock of Redis stands still
	})
}

// A guarded gateway in front of a guarded service answers with one value of each field.
func TestDropFields_behindAReverseProxy(t *testing.T) {
	rdb, _ := inProcess(t)
	inner := serve(t, rdb, parse(t, `
namespace: inner
endpoints: [{name: all, match: [/], limits: [{name: inner, limit: 1, window: 1m}]}]`), httpguard.Options{XHeaders: true}, nil)
	target, err := url.Parse(inner.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, ModifyResponse: httpguard.DropFields}
	outer := serve(t, rdb, parse(t, `
endpoints: [{name: all, match: [/], limits: [{name: outer, limit: 10, window: 1m}]}]`), httpguard.Options{XHeaders: true}, proxy.ServeHTTP)
	for i, want := range []struct {
		status                int
		remaining, retryAfter []string
	}{{200, []string{"9"}, nil}, {429, []string{"8"}, []string{"60"}}} {
		got, _ := outer.ask(t, "GET /")
		remaining, limits := got.Header.Values("X-RateLimit-Remaining"), got.Header.Values("RateLimit")
		if got.StatusCode != want.status || !slices.Equal(remaining, want.remaining) || len(limits) != 1 || !slices.Equal(got.Header.Values("Retry-After"), want.retryAfter) {
			t.Errorf("request %d: %d with %v", i, got.StatusCode, got.Header)
		}
	}
}
