package httpguard_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// A base answers requests without a network.
type base func(*http.Request) *http.Response

func (b base) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	response := b(r)
	response.Request = r
	if response.Header == nil {
		response.Header = http.Header{}
	}
	if response.Body == nil {
		response.Body = io.NopCloser(strings.NewReader("{}"))
	}
	return response, nil
}

func respond(status int, fields ...string) *http.Response {
	h := http.Header{}
	for i := 0; i < len(fields); i += 2 {
		h.Add(fields[i], fields[i+1])
	}
	return &http.Response{StatusCode: status, Header: h}
}

// A fixture is a transport whose guard is in this process, in virtual time.
type fixture struct {
	*http.Client
	guard    *guard.Guard
	accounts []string // of the decisions
	settled  []guard.Settlement
	mu       sync.Mutex
}

// outbound runs f in virtual time.
func outbound(t *testing.T, upstream policy.Upstream, o httpguard.TransportOptions, f func(t *testing.T, x *fixture)) {
	dropPools := func() { // a pooled channel belongs to the bubble that made it
		runtime.GC()
		runtime.GC()
	}
	dropPools()
	defer dropPools()
	synctest.Test(t, func(t *testing.T) {
		server := embedded.New(embedded.Options{})
		x := &fixture{}
		g, err := guard.New(server, &policy.Policy{Timeout: time.Minute, Upstreams: []policy.Upstream{upstream}}, guard.Options{
			NoOverrides: true, CacheSize: -1, Hooks: []guard.Hooks{{
				Decided: func(_ context.Context, e guard.Event) {
					x.mu.Lock()
					defer x.mu.Unlock()
					x.accounts = append(x.accounts, e.Request.Subjects[0])
				},
				Settled: func(_ context.Context, s guard.Settlement, _ error) {
					x.mu.Lock()
					defer x.mu.Unlock()
					x.settled = append(x.settled, s)
				},
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		transport, err := httpguard.NewTransport(g, o)
		if err != nil {
			t.Fatal(err)
		}
		x.Client, x.guard = &http.Client{Transport: transport}, g
		f(t, x)
		_ = g.Close()
		_ = server.Close()
		time.Sleep(time.Minute) // idle goroutines end
	})
}

// get sends a request, and returns the status, or 0 and the error.
func (x *fixture) get(t *testing.T, url string, header ...string) (int, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	response, err := x.Do(r)
	if err != nil {
		return 0, err
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	return response.StatusCode, nil
}

func example(limits ...policy.Limit) policy.Upstream {
	if limits == nil {
		limits = []policy.Limit{{Name: "minute", Limit: 1000, Window: time.Minute}}
	}
	return policy.Upstream{Name: "api", Match: []string{"api.example.com/v1/"}, MaxWait: new(time.Duration(0)), Limits: limits}
}

func ok(*http.Request) *http.Response { return respond(200) }

func TestTransport_countsEachSpellingOfAPath(t *testing.T) {
	outbound(t, example(), httpguard.TransportOptions{Base: base(ok)}, func(t *testing.T, x *fixture) {
		for url, counted := range map[string]bool{
			"http://api.example.com/v1/":                 true,
			"http://api.example.com/v1":                  true,
			"http://api.example.com/v1/chat?x=1":         true,
			"https://API.Example.com.:8443/v1/chat":      true,
			"http://api.example.com//v1//chat":           true,
			"http://api.example.com/x/../v1/chat":        true,
			"http://api.example.com/v1/%2e%2e/v1/a%2Fb/": true,
			"http://api.example.com/v2/chat":             false,
			"http://api.example.com/":                    false,
			"http://api.example.com":                     false,
			"http://api.example.com.evil.test/v1/":       false,
		} {
			x.accounts = nil
			if status, err := x.get(t, url); status != 200 {
				t.Errorf("%s: %d %v", url, status, err)
			}
			if want := []string{"account=api/api.example.com"}; counted && len(x.accounts) != 1 || !counted && x.accounts != nil {
				t.Errorf("%s: counted as %v, want %v, %v", url, x.accounts, want, counted)
			}
		}
	})
}

// The subject of an account has no secret in it, and is the same in each process.
func TestTransport_accountOfAHeader(t *testing.T) {
	u := example()
	u.Account = &policy.Account{Header: "Authorization"}
	outbound(t, u, httpguard.TransportOptions{Base: base(ok)}, func(t *testing.T, x *fixture) {
		for _, key := range []string{"Bearer secret-a", "Bearer secret-b", "Bearer secret-a"} {
			if _, err := x.get(t, "http://api.example.com/v1/", "Authorization", key); err != nil {
				t.Error(err)
			}
		}
		if _, err := x.get(t, "http://api.example.com/v1/"); err != nil {
			t.Error(err)
		}
		want := []string{
			"account=api/~b9efbc39ab2bbbe30237fcb658ac6866", "account=api/~a2ef98327c2a14b692721f73ed77cf4a",
			"account=api/~b9efbc39ab2bbbe30237fcb658ac6866", "account=api/default",
		}
		if diff := cmp.Diff(want, x.accounts); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestTransport_accountOfAPathOrAFunc(t *testing.T) {
	u := example()
	u.Match, u.Account = []string{"api.example.com/accounts/{account}/"}, &policy.Account{Path: "account"}
	outbound(t, u, httpguard.TransportOptions{Base: base(ok)}, func(t *testing.T, x *fixture) {
		for _, path := range []string{"42/items", "a%2Bb/", "a%20b"} {
			if _, err := x.get(t, "http://api.example.com/accounts/"+path); err != nil {
				t.Error(err)
			}
		}
		if diff := cmp.Diff([]string{"account=api/42", "account=api/a%2Bb", "account=api/a b"}, x.accounts); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	u = example()
	u.Account = &policy.Account{Func: true}
	team := func(r *http.Request) string { return r.Header.Get("X-Team") }
	outbound(t, u, httpguard.TransportOptions{Base: base(ok), Accounts: map[string]func(*http.Request) string{"api": team}}, func(t *testing.T, x *fixture) {
		if _, err := x.get(t, "http://api.example.com/v1/", "X-Team", "blue"); err != nil || !slices.Equal(x.accounts, []string{"account=api/blue"}) {
			t.Error(x.accounts, err)
		}
	})
}

func TestNewTransport_badInput(t *testing.T) {
	if _, err := httpguard.NewTransport(nil, httpguard.TransportOptions{}); err == nil {
		t.Error("no error without a guard")
	}
	u := example()
	u.Account = &policy.Account{Func: true}
	g, err := guard.New(embedded.New(embedded.Options{}), &policy.Policy{Upstreams: []policy.Upstream{u}}, guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	f := func(*http.Request) string { return "" }
	for want, accounts := range map[string]map[string]func(*http.Request) string{
		`new http transport: upstreams[0].account: func is true, but the service registers none: set Accounts["api"]`:         nil,
		`new http transport: upstream other: the service registers a func, but the policy does not set account: {func: true}`: {"api": f, "other": f},
	} {
		if _, err := httpguard.NewTransport(g, httpguard.TransportOptions{Accounts: accounts}); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// A closer tells whether a body was closed.
type closer struct {
	io.Reader
	closed bool
}

func (c *closer) Close() error {
	c.closed = true
	return nil
}

func TestTransport_sendsNothingThatIsRefused(t *testing.T) {
	sent := 0
	count := base(func(*http.Request) *http.Response { sent++; return respond(200) })
	outbound(t, example(policy.Limit{Name: "minute", Limit: 1, Window: time.Minute}), httpguard.TransportOptions{Base: count}, func(t *testing.T, x *fixture) {
		if _, err := x.get(t, "http://api.example.com/v1/"); err != nil {
			t.Fatal(err)
		}
		content := &closer{Reader: strings.NewReader("{}")}
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://api.example.com/v1/", content)
		_, err := x.Do(r)
		var refused *guard.RefusedError
		if !errors.As(err, &refused) || refused.Decision.RetryAfter != time.Minute+time.Second/2 || sent != 1 || !content.closed {
			t.Errorf("sent %d, closed %v: %v", sent, content.closed, err)
		}
	})
}

// A request that may be repeated is sent again, and each attempt counts.
func TestTransport_retries(t *testing.T) {
	for name, c := range map[string]struct {
		answers    []*http.Response
		noGetBody  bool
		status     int
		sent       int
		took, most time.Duration
	}{
		"asked to wait":             {answers: []*http.Response{respond(429, "Retry-After", "7"), respond(200)}, status: 200, sent: 2, took: 7 * time.Second},
		"not asked":                 {answers: []*http.Response{respond(503), respond(503), respond(200)}, status: 200, sent: 3, took: 300 * time.Millisecond},
		"attempts are used up":      {answers: []*http.Response{respond(429), respond(429), respond(429), respond(200)}, status: 429, sent: 3, took: 2 * time.Second},
		"another status":            {answers: []*http.Response{respond(500), respond(200)}, status: 500, sent: 1},
		"a body that is used up":    {answers: []*http.Response{respond(429), respond(200)}, noGetBody: true, status: 429, sent: 1},
		"the upstream says no":      {answers: []*http.Response{respond(429, "Stripe-Should-Retry", "false"), respond(200)}, status: 429, sent: 1},
		"a wait that is too long":   {answers: []*http.Response{respond(429, "Retry-After", "31"), respond(200)}, status: 429, sent: 1},
		"a year is an hour at most": {answers: []*http.Response{respond(503, "Retry-After", "31536000"), respond(200)}, status: 503, sent: 1},
		"its body never ends":       {answers: []*http.Response{endless(respond(503)), respond(200)}, status: 200, sent: 2, took: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			u := example()
			u.Retry, u.MaxWait = &policy.Retry{}, nil
			sent := 0
			var contents []string
			script := base(func(r *http.Request) *http.Response { sent++; return c.answers[sent-1] })
			spy := roundTripper(func(r *http.Request) (*http.Response, error) {
				content, _ := io.ReadAll(r.Body)
				contents = append(contents, string(content))
				sent := *r
				sent.Body = http.NoBody
				return script.RoundTrip(&sent)
			})
			outbound(t, u, httpguard.TransportOptions{Base: spy}, func(t *testing.T, x *fixture) {
				r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://api.example.com/v1/", strings.NewReader("content"))
				if c.noGetBody {
					r.GetBody = nil
				}
				start := time.Now()
				response, err := x.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				_ = response.Body.Close()
				if response.StatusCode != c.status || sent != c.sent || len(slices.Compact(slices.Clone(contents))) != 1 || contents[0] != "content" {
					t.Errorf("status %d after %q, want %d after %d", response.StatusCode, contents, c.status, c.sent)
				}
				if took := time.Since(start); took < c.took || took > 2*c.took+time.Second {
					t.Errorf("took %s, want %s", took, c.took)
				}
				if len(x.accounts) < c.sent {
					t.Errorf("%d attempts were decided, want %d", len(x.accounts), c.sent)
				}
			})
		})
	}
}

// endless adds a body that is silent until it is closed.
func endless(r *http.Response) *http.Response {
	r.Body = new(silent)
	return r
}

type silent struct{ closed atomic.Bool }

func (s *silent) Read([]byte) (int, error) {
	for !s.closed.Load() {
		time.Sleep(10 * time.Millisecond) // of the virtual time
	}
	return 0, http.ErrBodyReadAfterClose
}

func (s *silent) Close() error {
	s.closed.Store(true)
	return nil
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A redirect is a request of its own: it counts for the upstream and the account that it goes to, and so does what that answers. http.Client sends no
// Authorization to another host.
func TestTransport_redirects(t *testing.T) {
	elsewhere := base(func(r *http.Request) *http.Response {
		switch r.URL.Path {
		case "/v1/":
			return respond(302, "Location", "http://api.example.com/v1/moved")
		case "/v1/moved":
			return respond(307, "Location", "http://other.example.com/v1/elsewhere")
		case "/v1/elsewhere":
			return respond(302, "Location", "http://third.example.com/")
		}
		return respond(429, "Retry-After", "60")
	})
	u := example()
	u.Match, u.Account = append(u.Match, "other.example.com/v1/"), &policy.Account{Header: "Authorization"}
	outbound(t, u, httpguard.TransportOptions{Base: elsewhere}, func(t *testing.T, x *fixture) {
		for range 2 {
			x.accounts = nil
			if status, err := x.get(t, "http://api.example.com/v1/", "Authorization", "Bearer secret-a"); status != 429 || err != nil {
				t.Errorf("got %d %v", status, err)
			}
			const secret = "account=api/~b9efbc39ab2bbbe30237fcb658ac6866"
			if diff := cmp.Diff([]string{secret, secret, "account=api/default"}, x.accounts); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
	})
}

// A panic of the base or of a func of the service ends the call.
func TestTransport_panics(t *testing.T) {
	u := example(policy.Limit{Name: "at_once", Kind: policy.Concurrency, Limit: 1})
	fails := true
	o := httpguard.TransportOptions{
		Base: roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/v1/base" && fails {
				panic("base")
			}
			return base(ok).RoundTrip(r)
		}),
		Usage: func(*http.Response, [][]byte) (guard.Amounts, bool) {
			if fails {
				panic("usage")
			}
			return guard.Amounts{}, false
		},
	}
	outbound(t, u, o, func(t *testing.T, x *fixture) {
		for _, path := range []string{"base", "usage"} {
			fails = true
			func() {
				defer func() {
					if v := recover(); v != path {
						t.Errorf("got %v, want a panic of %s", v, path)
					}
				}()
				_, _ = x.get(t, "http://api.example.com/v1/"+path)
			}()
			fails = false
			synctest.Wait()
			if _, err := x.get(t, "http://api.example.com/v1/"); err != nil {
				t.Errorf("after a panic of %s: %v", path, err)
			}
			synctest.Wait()
		}
	})
}

// Whatever text names an account, it is one.
func TestTransport_accountsOfAnyText(t *testing.T) {
	u := example()
	u.Account = &policy.Account{Func: true}
	name := ""
	o := httpguard.TransportOptions{Base: base(ok), Accounts: map[string]func(*http.Request) string{"api": func(*http.Request) string { return name }}}
	outbound(t, u, o, func(t *testing.T, x *fixture) {
		for _, name = range []string{"a+b", "a/b", "a=b", "%2B", "{x}", " ", "a\x00b", "\xff", "~", "\r\n", strings.Repeat("x", 1<<20)} {
			if _, err := x.get(t, "http://api.example.com/v1/"); err != nil {
				t.Errorf("%.20q: %v", name, err)
			}
		}
		if all := slices.Compact(slices.Sorted(slices.Values(x.accounts))); len(all) != 11 {
			t.Errorf("%d accounts: %q", len(all), all)
		}
	})
}

// A request has its place until its response has ended in one of these ways.
func TestTransport_endsWithItsBody(t *testing.T) {
	for name, end := range map[string]func(r *http.Response, cancel func()){
		"closed":    func(r *http.Response, _ func()) { _ = r.Body.Close() },
		"read":      func(r *http.Response, _ func()) { _, _ = io.Copy(io.Discard, r.Body) },
		"cancelled": func(_ *http.Response, cancel func()) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			outbound(t, example(policy.Limit{Name: "at_once", Kind: policy.Concurrency, Limit: 1}), httpguard.TransportOptions{Base: base(ok)}, func(t *testing.T, x *fixture) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://api.example.com/v1/", nil)
				response, err := x.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(5 * time.Minute) // it is kept
				var refused *guard.RefusedError
				if _, err := x.get(t, "http://api.example.com/v1/"); !errors.As(err, &refused) {
					t.Errorf("while it is open: %v", err)
				}
				end(response, cancel)
				synctest.Wait()
				if _, err := x.get(t, "http://api.example.com/v1/"); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// The garbage collector finds a body that nobody closed.
func TestTransport_forgottenBody(t *testing.T) {
	u := example(policy.Limit{Name: "at_once", Kind: policy.Concurrency, Limit: 1})
	u.MaxWait = new(time.Minute)
	g, err := guard.New(embedded.New(embedded.Options{}), &policy.Policy{Upstreams: []policy.Upstream{u}}, guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	transport, err := httpguard.NewTransport(g, httpguard.TransportOptions{Base: base(ok)})
	if err != nil {
		t.Fatal(err)
	}
	x := &fixture{Client: &http.Client{Transport: transport}}
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://api.example.com/v1/", nil)
	if _, err := x.Do(r); err != nil { //nolint:bodyclose // that is the point
		t.Fatal(err)
	}
	ctx, done := context.WithCancel(t.Context())
	defer done()
	go func() {
		for ctx.Err() == nil {
			runtime.GC()
		}
	}()
	if _, err := x.get(t, "http://api.example.com/v1/"); err != nil {
		t.Error(err)
	}
}

// What a response says that its request has used replaces the estimate.
func TestTransport_settles(t *testing.T) {
	const openAI = `data: {"choices":[{"delta":{"content":"\"usage\":{"}}],"usage":null}` + "\n\n" +
		`data: {"choices":[],"usage":{"prompt_tokens":13,"completion_tokens":7,"total_tokens":20}}` + "\n\ndata: [DONE]\n\n"
	const anthropic = "event: message_start\n" + `data: {"type":"message_start","message":{"usage":{"input_tokens":25,"output_tokens":1}}}` + "\n\n" +
		"event: ping\ndata: {\"type\": \"ping\"}\n\n" +
		`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":15}}` + "\r\n\r\n" +
		`data: {"type":"message_stop"}` + "\n\n"
	for name, c := range map[string]struct {
		kind, text string
		status     int
		partly     int // bytes that are read
		want       int64
	}{
		"OpenAI":                  {text: `{"choices":[],"usage":{"prompt_tokens":13,"completion_tokens":5,"total_tokens":18}}`, want: 18},
		"Anthropic":               {text: `{"content":[],"usage":{"input_tokens":10,"output_tokens":4}}`, want: 14},
		"Anthropic's cache":       {text: `{"usage":{"input_tokens":10,"cache_creation_input_tokens":200,"cache_read_input_tokens":5000,"output_tokens":4}}`, want: 214},
		"OpenAI's stream":         {kind: "text/event-stream", text: openAI, want: 20},
		"OpenAI's Responses":      {kind: "text/event-stream", text: `data: {"type":"response.completed","response":{"usage":{"input_tokens":3,"output_tokens":4}}}` + "\n\n", want: 7},
		"Anthropic's stream":      {kind: "text/event-stream; charset=utf-8", text: anthropic, want: 40},
		"closed after its end":    {kind: "text/event-stream", text: anthropic + strings.Repeat(": ping\n", 1000), partly: len(anthropic), want: 40},
		"closed before its end":   {kind: "text/event-stream", text: anthropic, partly: 120, want: 100},
		"no usage":                {text: `{"choices":[]}`, want: 100},
		"no JSON":                 {text: `<html>`, want: 100},
		"negative":                {text: `{"usage":{"prompt_tokens":-5,"completion_tokens":-5}}`, want: 100},
		"text":                    {text: `{"usage":{"prompt_tokens":"7","completion_tokens":"7"}}`, want: 100},
		"a fraction":              {text: `{"usage":{"prompt_tokens":1e300,"completion_tokens":0.5}}`, want: 100},
		"a sum beyond a number":   {text: `{"usage":{"prompt_tokens":9000000000000000000,"completion_tokens":9000000000000000000}}`, want: 100},
		"deeper than it reads":    {text: strings.Repeat("[", 1<<18), want: 100},
		"more than there is":      {text: `{"usage":{"prompt_tokens":9000000000000000000}}`, want: 100},
		"larger than is kept":     {text: `{"text":"` + strings.Repeat("x", 2<<20) + `","usage":{"prompt_tokens":13}}`, want: 100},
		"a line that never ends":  {kind: "text/event-stream", text: "data: " + strings.Repeat("x", 2<<20) + "\n" + openAI, want: 20},
		"a refusal spent nothing": {status: 429, text: `{}`, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			u := example()
			u.Budgets = []policy.Budget{{Name: "tokens", Unit: "tokens", Budget: 40_000_000_000, Window: time.Minute}}
			u.Cost = &policy.EndpointCost{Units: map[string]int64{"tokens": 100}}
			o := httpguard.TransportOptions{Usage: httpguard.Tokens("tokens"), Base: base(func(*http.Request) *http.Response {
				response := respond(max(c.status, 200), "Content-Type", c.kind)
				response.Body = io.NopCloser(strings.NewReader(c.text))
				return response
			})}
			outbound(t, u, o, func(t *testing.T, x *fixture) {
				r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://api.example.com/v1/", nil)
				response, err := x.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				if c.partly > 0 {
					_, _ = io.CopyN(io.Discard, response.Body, int64(c.partly))
				} else {
					_, _ = io.Copy(io.Discard, response.Body)
				}
				_ = response.Body.Close()
				synctest.Wait()
				if len(x.settled) != 1 || x.settled[0].Actual != fcall.Micros(c.want*1_000_000) || x.settled[0].Estimate != 100_000_000 {
					t.Errorf("settled %+v, want %d", x.settled, c.want)
				}
			})
		})
	}
}
