package outbound_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/guard/outbound"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// Responses as the documentation of ten APIs shows them, and how long a request to the same path and one to another must wait. Their clock and that of this
// process say 2000-01-01T00:00:00Z, which is 946684800.
func TestTransport_readsWhatAPIsSay(t *testing.T) {
	for name, c := range map[string]struct {
		to, other   string // other is not known before, unless it begins with !
		status      int
		fields      string // a line each, and a body after an empty one
		same, apart time.Duration
	}{
		// https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
		"GitHub, core is used up": {
			"/repos/a/b", "!/repos/c/d", 403,
			"X-RateLimit-Limit: 5000\nX-RateLimit-Remaining: 0\nX-RateLimit-Used: 5000\nX-RateLimit-Reset: 946685100\nX-RateLimit-Resource: core", 5 * time.Minute, 5 * time.Minute,
		},
		"GitHub, search is used up": {
			"/search/issues", "/repos/a/b", 403,
			"X-RateLimit-Limit: 30\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 946684845\nX-RateLimit-Resource: search", 45 * time.Second, 0,
		},
		"GitHub, the last of search": {
			"/search/issues", "/repos/a/b", 200,
			"X-RateLimit-Limit: 30\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 946684845\nX-RateLimit-Resource: search", 45 * time.Second, 0,
		},
		"GitHub, a secondary limit": {
			"/repos/a/b", "/search/issues", 403,
			"X-RateLimit-Remaining: 4900\nX-RateLimit-Reset: 946688400\nX-RateLimit-Resource: core\nRetry-After: 60", time.Minute, time.Minute,
		},
		// https://platform.openai.com/docs/guides/rate-limits
		"OpenAI, tokens are used up": {
			"/v1/chat/completions", "/v1/embeddings", 200,
			"X-Ratelimit-Limit-Requests: 60\nX-Ratelimit-Limit-Tokens: 150000\nX-Ratelimit-Remaining-Requests: 59\nX-Ratelimit-Remaining-Tokens: 0\nX-Ratelimit-Reset-Requests: 1s\nX-Ratelimit-Reset-Tokens: 6m0s", 6 * time.Minute, 6 * time.Minute,
		},
		"OpenAI, requests of a day": {
			"/v1/chat/completions", "/v1/embeddings", 429,
			"X-Ratelimit-Remaining-Requests: 0\nX-Ratelimit-Reset-Requests: 8m38.4s\nX-Ratelimit-Remaining-Tokens: 149984\nX-Ratelimit-Reset-Tokens: 6ms", 518400 * time.Millisecond, 518400 * time.Millisecond,
		},
		"OpenAI, exact": {"/v1/chat/completions", "/v1/embeddings", 429, "Retry-After: 2\nRetry-After-Ms: 1350", 1350 * time.Millisecond, 1350 * time.Millisecond},
		// https://learn.microsoft.com/azure/ai-services/openai/how-to/quota
		"Azure OpenAI": {
			"/openai/deployments/a/chat/completions", "/openai/deployments/b/chat/completions", 429,
			"X-Ratelimit-Limit-Tokens: 20000\nX-Ratelimit-Remaining-Tokens: 0\nX-Ratelimit-Reset-Tokens: 55\nRetry-After: 55\nRetry-After-Ms: 55000", 55 * time.Second, 55 * time.Second,
		},
		"Azure OpenAI, only a reset":         {"/openai/a", "/openai/b", 429, "X-Ratelimit-Reset-Tokens: 55", 55 * time.Second, 55 * time.Second},
		"Azure OpenAI, on a 200":             {"/openai/a", "/openai/b", 200, "X-Ratelimit-Remaining-Tokens: 0\nX-Ratelimit-Reset-Tokens: 30", 30 * time.Second, 30 * time.Second},
		"Azure OpenAI, does not know":        {"/openai/a", "/openai/b", 200, "X-Ratelimit-Limit-Tokens: -1\nX-Ratelimit-Remaining-Tokens: -1\nX-Ratelimit-Reset-Tokens: 0", 0, 0},
		"Azure OpenAI, its own milliseconds": {"/openai/a", "/openai/b", 429, "X-Ms-Retry-After-Ms: 2500", 2500 * time.Millisecond, 2500 * time.Millisecond},
		// https://docs.claude.com/en/api/rate-limits
		"Anthropic": {
			"/v1/messages", "/v1/models", 429,
			"Retry-After: 12\nAnthropic-Ratelimit-Input-Tokens-Limit: 80000\nAnthropic-Ratelimit-Input-Tokens-Remaining: 0\nAnthropic-Ratelimit-Input-Tokens-Reset: 2000-01-01T00:00:20Z\nAnthropic-Ratelimit-Output-Tokens-Remaining: 16000\nAnthropic-Ratelimit-Output-Tokens-Reset: 2000-01-01T00:10:00Z", 20 * time.Second, 20 * time.Second,
		},
		"Anthropic, priority tier": {"/v1/messages", "/v1/models", 200, "Anthropic-Priority-Output-Tokens-Remaining: 0\nAnthropic-Priority-Output-Tokens-Reset: 2000-01-01T00:00:20Z", 20 * time.Second, 20 * time.Second},
		"Anthropic is overloaded":  {"/v1/messages", "/v1/models", 529, "Retry-After: 3\nX-Should-Retry: true", 3 * time.Second, 3 * time.Second},
		// https://ai.google.dev/gemini-api/docs/rate-limits; it has no fields, and a limit for each model
		"Gemini": {
			"/v1beta/models/gemini-2.0-flash:generateContent", "/v1beta/models/gemini-2.5-pro:generateContent", 429,
			"Content-Type: application/json; charset=UTF-8\n\n" + `{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": [{"@type": "type.googleapis.com/google.rpc.QuotaFailure"},` +
				` {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "36s"}]}}`, 36 * time.Second, 0,
		},
		// https://docs.stripe.com/rate-limits
		"Stripe":                  {"/v1/charges", "/v1/refunds", 429, "Stripe-Rate-Limited-Reason: global-rate", time.Second, time.Second},
		"Stripe, of an endpoint":  {"/v1/charges/ch_1", "/v1/refunds", 429, "Stripe-Rate-Limited-Reason: endpoint-rate", time.Second, 0},
		"Stripe, the same by IDs": {"/v1/charges/ch_1", "/v1/charges/ch_2", 429, "Stripe-Rate-Limited-Reason: endpoint-concurrency", time.Second, time.Second},
		// https://api.slack.com/apis/rate-limits
		"Slack": {"/api/chat.postMessage", "/api/users.list", 429, "Retry-After: 30\nContent-Type: application/json\n\n{\"ok\":false,\"error\":\"ratelimited\"}", 30 * time.Second, 30 * time.Second},
		// https://discord.com/developers/docs/topics/rate-limits
		"Discord, a bucket is empty": {
			"/api/v10/channels/1/messages", "/api/v10/guilds/2", 200,
			"X-RateLimit-Limit: 5\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 946684801.25\nX-RateLimit-Reset-After: 1.25\nX-RateLimit-Bucket: abcd1234", 1250 * time.Millisecond, 0,
		},
		"Discord, a user's limit": {
			"/api/v10/channels/1/messages", "/api/v10/guilds/2", 429,
			"Retry-After: 65\nX-RateLimit-Limit: 10\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 946684864.57\nX-RateLimit-Reset-After: 64.57\nX-RateLimit-Bucket: abcd1234\nX-RateLimit-Scope: user", 65 * time.Second, 0,
		},
		"Discord, a shared limit": {
			"/api/v10/channels/1/messages", "/api/v10/guilds/2", 429,
			"Retry-After: 9\nX-RateLimit-Remaining: 4\nX-RateLimit-Reset-After: 1\nX-RateLimit-Bucket: abcd1234\nX-RateLimit-Scope: shared", 9 * time.Second, 0,
		},
		"Discord, the global limit": {
			"/api/v10/channels/1/messages", "/api/v10/guilds/2", 429,
			"Retry-After: 65\nX-RateLimit-Global: true\nX-RateLimit-Scope: global\nContent-Type: application/json\n\n{\"retry_after\": 64.57, \"global\": true}", 65 * time.Second, 65 * time.Second,
		},
		"Discord, only its body": {"/api/v10/channels/1", "/api/v10/guilds/2", 429, "Content-Type: application/json\n\n{\"message\": \"You are being rate limited.\", \"retry_after\": 64.57}", 64570 * time.Millisecond, 0},
		// https://developer.okta.com/docs/reference/rl-best-practices/
		"Okta":                      {"/api/v1/users", "/api/v1/groups", 200, "X-Rate-Limit-Limit: 600\nX-Rate-Limit-Remaining: 0\nX-Rate-Limit-Reset: 946684826", 26 * time.Second, 26 * time.Second},
		"Okta, a concurrency limit": {"/api/v1/users", "/api/v1/groups", 429, "X-Rate-Limit-Limit: 0\nX-Rate-Limit-Remaining: 0\nX-Rate-Limit-Reset: 946684826", 26 * time.Second, 26 * time.Second},
		// https://shopify.dev/docs/api/admin-rest/usage/rate-limits
		"Shopify":                     {"/admin/api/2024-01/products.json", "/admin/api/2024-01/orders.json", 429, "Retry-After: 2.0\nX-Shopify-Shop-Api-Call-Limit: 40/40", 2 * time.Second, 2 * time.Second},
		"Shopify, its bucket is full": {"/admin/api/2024-01/products.json", "/admin/api/2024-01/orders.json", 200, "X-Shopify-Shop-Api-Call-Limit: 40/40", time.Second, time.Second},
		"Shopify, some is left":       {"/admin/api/2024-01/products.json", "/admin/api/2024-01/orders.json", 200, "X-Shopify-Shop-Api-Call-Limit: 39/40", 0, 0},
		// https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/11/
		"the draft": {
			"/search", "/items", 429, "RateLimit-Policy: \"search\";q=10;w=60\nRateLimit: \"search\";r=0;t=60\nRetry-After: 60", time.Minute, 0,
		},
		"the draft's policy alone": {"/v1/search", "/v1/items", 429, "RateLimit-Policy: \"search\";q=10;w=60\nRetry-After: 60", time.Minute, 0},
	} {
		t.Run(name, func(t *testing.T) {
			head, content, _ := strings.Cut(c.fields, "\n\n")
			fields := []string{"Date", "Sat, 01 Jan 2000 00:00:00 GMT"}
			for line := range strings.Lines(head) {
				key, value, _ := strings.Cut(strings.TrimRight(line, "\n"), ": ")
				fields = append(fields, key, value)
			}
			sent, told := 0, 0
			known := strings.HasPrefix(c.other, "!")
			o := outbound.Options{Base: base(func(r *http.Request) *http.Response {
				if sent++; known && sent == 1 {
					return respond(200, "X-RateLimit-Remaining", "1", "X-RateLimit-Resource", "core")
				}
				if told++; told > 1 {
					return respond(200)
				}
				response := respond(c.status, fields...)
				response.Body = io.NopCloser(strings.NewReader(content))
				return response
			})}
			u := policy.Upstream{Name: "api", Match: []string{"api.example.com/"}, MaxWait: new(2 * time.Hour), Limits: []policy.Limit{{Name: "minute", Limit: 1000, Window: time.Minute}}}
			virtually(t, u, o, func(t *testing.T, x *fixture) {
				other := strings.TrimPrefix(c.other, "!")
				if known {
					_, _ = x.get(t, "http://api.example.com"+other)
				}
				r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://api.example.com"+c.to, nil)
				response, err := x.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				if text, err := io.ReadAll(response.Body); string(text) != content || err != nil {
					t.Errorf("the body is %q, %v", text, err)
				}
				start := time.Now()
				for _, one := range []struct {
					path string
					want time.Duration
				}{{other, c.apart}, {c.to, c.same}} {
					if _, err := x.get(t, "http://api.example.com"+one.path); err != nil {
						t.Fatal(err)
					}
					if took := time.Since(start); took < one.want || took > one.want+50*time.Millisecond {
						t.Errorf("%s waited %s, want %s", one.path, took, one.want)
					}
				}
			})
		})
	}
}
