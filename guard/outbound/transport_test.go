package outbound_test

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
	"github.com/rlfunc/rlfunc/guard/outbound"
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
	*outbound.Transport
	accounts []string // of the decisions
	settled  []guard.Settled
	mu       sync.Mutex
}

// virtually runs f in virtual time.
func virtually(t *testing.T, upstream policy.Upstream, o outbound.Options, f func(t *testing.T, x *fixture)) {
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
			NoOverrides: true, CacheSize: -1, Observers: []guard.Observer{func(_ context.Context, e guard.Event) {
				x.mu.Lock()
				defer x.mu.Unlock()
				switch e := e.(type) {
				case guard.Decided:
					x.accounts = append(x.accounts, e.Request.Subjects[0])
				case guard.Settled:
					x.settled = append(x.settled, e)
				}
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		transport, err := outbound.New(g, o)
		if err != nil {
			t.Fatal(err)
		}
		x.Client, x.Transport = &http.Client{Transport: transport}, transport
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
	virtually(t, example(), outbound.Options{Base: base(ok)}, func(t *testing.T, x *fixture) {
		for url, counted := range map[string]bool{
			"http://api.example.com/v1/":                 true,
			"http://api.example.com/v1":                  true,
			"http://api.example.com/v1/chat?x=1":         true,
			"https://API.Example.com.:8443/v1/chat":      true,
			"http://api.example.com//v1//chat":           true,
			"http://api.example.com/x/../v1/chat":        true,
			"http://api.example.com/v1/%2e%2e/v1/a%2Fb/": true,
			"http://ａｐｉ.example.com/v1/":                 true,
			"http://api。example。com/v1/":                 true,
			"http://api.exam\u00adple.com/v1/":           true,
			"http://api.example.com:80/v1/":              true,
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
	virtually(t, u, outbound.Options{Base: base(ok)}, func(t *testing.T, x *fixture) {
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
	virtually(t, u, outbound.Options{Base: base(ok)}, func(t *testing.T, x *fixture) {
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
	virtually(t, u, outbound.Options{Base: base(ok), Accounts: map[string]func(*http.Request) string{"api": team}}, func(t *testing.T, x *fixture) {
		if _, err := x.get(t, "http://api.example.com/v1/", "X-Team", "blue"); err != nil || !slices.Equal(x.accounts, []string{"account=api/blue"}) {
			t.Error(x.accounts, err)
		}
	})
}

func TestNew_badInput(t *testing.T) {
	if _, err := outbound.New(nil, outbound.Options{}); err == nil {
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
		`new outbound transport: upstreams[0].account: func is true, but the service registers none: set Accounts["api"]`:         nil,
		`new outbound transport: upstream other: the service registers a func, but the policy does not set account: {func: true}`: {"api": f, "other": f},
	} {
		if _, err := outbound.New(g, outbound.Options{Accounts: accounts}); err == nil || err.Error() != want {
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
	virtually(t, example(policy.Limit{Name: "minute", Limit: 1, Window: time.Minute}), outbound.Options{Base: count}, func(t *testing.T, x *fixture) {
		if _, err := x.get(t, "http://api.example.com/v1/"); err != nil {
			t.Fatal(err)
		}
		content := &closer{Reader: strings.NewReader("{}")}
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://api.example.com/v1/", content)
		_, err := x.Do(r)
		var refused *outbound.RefusedError
		if !errors.As(err, &refused) || refused.Decision.RetryAfter != time.Minute+time.Second/2 || sent != 1 || !content.closed {
			t.Errorf("sent %d, closed %v: %v", sent, content.closed, err)
		}
	})
}

// A request that may be repeated is sent again, and each attempt counts.
func TestTransport_retries(t *testing.T) {
	for name, c := range map[string]struct {
		answers    []*http.Response
		method     string // POST by default
		key        bool
		noGetBody  bool
		status     int
		sent       int
		took, most time.Duration
	}{
		"asked to wait":             {answers: []*http.Response{respond(429, "Retry-After", "7"), respond(200)}, status: 200, sent: 2, took: 7 * time.Second},
		"not asked":                 {answers: []*http.Response{respond(503), respond(503), respond(200)}, method: "PUT", status: 200, sent: 3, took: 300 * time.Millisecond},
		"attempts are used up":      {answers: []*http.Response{respond(429), respond(429), respond(429), respond(200)}, status: 429, sent: 3, took: 2 * time.Second},
		"as long as it asks":        {answers: []*http.Response{respond(503, "Retry-After", "3"), respond(429, "Retry-After", "3"), respond(200)}, method: "PUT", status: 200, sent: 3, took: 6 * time.Second},
		"a method that does more":   {answers: []*http.Response{respond(503), respond(200)}, status: 503, sent: 1},
		"a method that does not":    {answers: []*http.Response{respond(429), respond(200)}, method: "PUT", status: 200, sent: 2, took: time.Second},
		"an idempotency key":        {answers: []*http.Response{respond(503), respond(200)}, method: "PATCH", key: true, status: 200, sent: 2},
		"another status":            {answers: []*http.Response{respond(501), respond(200)}, status: 501, sent: 1},
		"a body that is used up":    {answers: []*http.Response{respond(429), respond(200)}, noGetBody: true, status: 429, sent: 1},
		"the upstream says no":      {answers: []*http.Response{respond(429, "Stripe-Should-Retry", "false"), respond(200)}, status: 429, sent: 1},
		"a wait that is too long":   {answers: []*http.Response{respond(429, "Retry-After", "31"), respond(200)}, status: 429, sent: 1},
		"a year is an hour at most": {answers: []*http.Response{respond(429, "Retry-After", "31536000"), respond(200)}, status: 429, sent: 1},
		"its body never ends":       {answers: []*http.Response{endless(respond(503)), respond(200)}, method: "PUT", status: 200, sent: 2, took: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			u := example()
			u.Attempts, u.MaxWait = 3, nil
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
			virtually(t, u, outbound.Options{Base: spy}, func(t *testing.T, x *fixture) {
				method := c.method
				if method == "" {
					method = http.MethodPost
				}
				r, _ := http.NewRequestWithContext(t.Context(), method, "http://api.example.com/v1/", strings.NewReader("content"))
				if c.key {
					r.Header.Set("Idempotency-Key", "1")
				}
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
	virtually(t, u, outbound.Options{Base: elsewhere}, func(t *testing.T, x *fixture) {
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
	u.Budgets = []policy.Budget{{Name: "tokens", Unit: "tokens", Budget: 1_000_000, Window: time.Minute}}
	fails := true
	o := outbound.Options{
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
	virtually(t, u, o, func(t *testing.T, x *fixture) {
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
	o := outbound.Options{Base: base(ok), Accounts: map[string]func(*http.Request) string{"api": func(*http.Request) string { return name }}}
	virtually(t, u, o, func(t *testing.T, x *fixture) {
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
			virtually(t, example(policy.Limit{Name: "at_once", Kind: policy.Concurrency, Limit: 1}), outbound.Options{Base: base(ok)}, func(t *testing.T, x *fixture) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://api.example.com/v1/", nil)
				response, err := x.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(5 * time.Minute) // it is kept
				var refused *outbound.RefusedError
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
	transport, err := outbound.New(g, outbound.Options{Base: base(ok)})
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
	const gemini = `{"candidates":[{"content":{"parts":[{"text":"He"}]}}],"usageMetadata":{"promptTokenCount":8,"totalTokenCount":8}}`
	const gemini2 = `{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":8,"candidatesTokenCount":24,"totalTokenCount":32}}`
	for name, c := range map[string]struct {
		kind, text string
		coding     string
		status     int
		partly     int // bytes that are read
		want       int64
		unknown    guard.Unknown
	}{
		"OpenAI":                   {text: `{"choices":[],"usage":{"prompt_tokens":13,"completion_tokens":5,"total_tokens":18}}`, want: 18},
		"Anthropic":                {text: `{"content":[],"usage":{"input_tokens":10,"output_tokens":4}}`, want: 14},
		"Anthropic's cache":        {text: `{"usage":{"input_tokens":10,"cache_creation_input_tokens":200,"cache_read_input_tokens":5000,"output_tokens":4}}`, want: 214},
		"OpenAI's stream":          {kind: "text/event-stream", text: openAI, want: 20},
		"OpenAI's Responses":       {kind: "text/event-stream", text: `data: {"type":"response.completed","response":{"usage":{"input_tokens":3,"output_tokens":4}}}` + "\n\n", want: 7},
		"Anthropic's stream":       {kind: "text/event-stream; charset=utf-8", text: anthropic, want: 40},
		"closed after its end":     {kind: "text/event-stream", text: anthropic + strings.Repeat(": ping\n", 1000), partly: len(anthropic), want: 40},
		"closed before its end":    {kind: "text/event-stream", text: anthropic, partly: 120, want: 100},
		"closed before it tells":   {kind: "text/event-stream", text: anthropic, partly: 20, want: 100, unknown: guard.UnknownUnread},
		"no usage":                 {text: `{"choices":[]}`, want: 100, unknown: guard.UnknownUntold},
		"no JSON":                  {text: `<html>`, want: 100},
		"negative":                 {text: `{"usage":{"prompt_tokens":-5,"completion_tokens":-5}}`, want: 100},
		"text":                     {text: `{"usage":{"prompt_tokens":"7","completion_tokens":"7"}}`, want: 100},
		"a fraction":               {text: `{"usage":{"prompt_tokens":1e300,"completion_tokens":0.5}}`, want: 100},
		"a sum beyond a number":    {text: `{"usage":{"prompt_tokens":9000000000000000000,"completion_tokens":9000000000000000000}}`, want: 100},
		"deeper than it reads":     {text: strings.Repeat("[", 1<<18), want: 100},
		"more than there is":       {text: `{"usage":{"prompt_tokens":9000000000000000000}}`, want: 100},
		"larger than is kept":      {text: `{"text":"` + strings.Repeat("x", 2<<20) + `","usage":{"prompt_tokens":13}}`, want: 13},
		"a blank before the colon": {text: `{"usage" : {"prompt_tokens" :13, "completion_tokens": 5}}`, want: 18},
		"decimals":                 {text: `{"usage":{"prompt_tokens":13.0,"completion_tokens":4.5}}`, want: 18},
		"a text named response":    {text: `{"response":"hello","message":"x","usage":{"prompt_tokens":13,"completion_tokens":5}}`, want: 18},
		"only a total":             {text: `{"data":[],"usage":{"total_tokens":31}}`, want: 31},
		"none":                     {text: `{"usage":{"prompt_tokens":0,"completion_tokens":0}}`, want: 0},
		"in a tool's input":        {text: `{"content":[{"type":"tool_use","input":{"usage":{"output_tokens":9000}}}],"usage":{"input_tokens":10,"output_tokens":4}}`, want: 14},
		"in what a model wrote":    {text: `{"text":"{\"usage\":{\"output_tokens\":9000}}","usage":{"input_tokens":10,"output_tokens":4}}`, want: 14},
		"Gemini":                   {text: `{"candidates":[],"usageMetadata":{"promptTokenCount":8,"candidatesTokenCount":4,"thoughtsTokenCount":20,"totalTokenCount":32}}`, want: 32},
		"Gemini's events":          {kind: "text/event-stream", text: "data: " + gemini + "\r\n\r\ndata: " + gemini2 + "\r\n\r\n", want: 32},
		"Gemini's array":           {text: "[" + gemini + "\n,\r\n" + gemini2 + "\n]", want: 32},
		"Bedrock":                  {text: `{"output":{},"usage":{"inputTokens":30,"outputTokens":62,"totalTokens":92}}`, want: 92},
		"two lines of an event":    {kind: "text/event-stream", text: "data: {\"choices\":[],\ndata:\"usage\":\ndata: {\"prompt_tokens\":13,\ndata: \"completion_tokens\":7}}\n\n", want: 20},
		"no Content-Type":          {text: openAI, want: 20},
		"each chunk has one":       {kind: "text/event-stream", text: strings.Repeat(`data: {"choices":[{"delta":{}}],"usage":{"prompt_tokens":13,"completion_tokens":1}}`+"\n\n", 5) + openAI, want: 20},
		"carriage returns":         {kind: "text/event-stream", text: strings.ReplaceAll(openAI, "\n", "\r"), want: 20},
		"a very long text":         {kind: "text/event-stream", text: `data: {"choices":[{"delta":{"content":"` + strings.Repeat("x", 3<<20) + `"}}],"usage":{"prompt_tokens":13,"completion_tokens":7}}` + "\n\n", want: 20},
		"more than was estimated":  {kind: "text/event-stream", text: strings.Repeat(`data: {"choices":[{"delta":{}}],"usage":{"prompt_tokens":113,"completion_tokens":1}}`+"\n\n", 5), partly: 200, want: 114},
		"an error that used some":  {status: 500, text: `{"usage":{"prompt_tokens":7}}`, want: 7},
		"compressed":               {coding: "gzip", text: `?`, want: 100, unknown: guard.UnknownEncoding},
		"a line that never ends":   {kind: "text/event-stream", text: "data: " + strings.Repeat("x", 2<<20) + "\n" + openAI, want: 20},
		"a refusal spent nothing":  {status: 429, text: `{}`, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			u := example()
			u.Budgets = []policy.Budget{{Name: "tokens", Unit: "tokens", Budget: 40_000_000_000, Window: time.Minute}}
			u.Cost = &policy.EndpointCost{Units: map[string]int64{"tokens": 100}}
			o := outbound.Options{Usage: outbound.Tokens("tokens"), Base: base(func(*http.Request) *http.Response {
				response := respond(max(c.status, 200), "Content-Type", c.kind, "Content-Encoding", c.coding)
				response.Body = io.NopCloser(strings.NewReader(c.text))
				return response
			})}
			virtually(t, u, o, func(t *testing.T, x *fixture) {
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
				if c.unknown != "" && x.settled[0].Unknown != c.unknown || c.want != 100 && x.settled[0].Unknown != "" {
					t.Errorf("unknown because of %q, want %q", x.settled[0].Unknown, c.unknown)
				}
			})
		})
	}
}
