package outbound_test

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/guard/outbound"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// A host is one account, however a URL spells it.
func TestTransport_accountOfAHost(t *testing.T) {
	u := example()
	u.Match = []string{"*.openai.azure.com/", "api.example.com/", "POST bücher.example/", "[::1]/"}
	virtually(t, u, outbound.Options{Base: base(ok)}, func(t *testing.T, x *fixture) {
		for host, want := range map[string]string{
			"one.openai.azure.com":       "one.openai.azure.com",
			"One.OpenAI.azure.com.:443":  "one.openai.azure.com",
			"a.b.openai.azure.com":       "a.b.openai.azure.com",
			"openai.azure.com":           "",
			"xopenai.azure.com":          "",
			"api.example.com.":           "api.example.com",
			"ａｐｉ｡example.com":            "api.example.com",
			"bücher.example":             "xn--bcher-kva.example",
			"BÜCHER.example":             "xn--bcher-kva.example",
			"xn--bcher-kva.example":      "xn--bcher-kva.example",
			"[0:0:0:0:0:0:0:1]:80":       "::1",
			"api.example.com.evil.test":  "",
			"*.openai.azure.com.example": "",
		} {
			x.accounts = nil
			r := &http.Request{Method: http.MethodPost, URL: &url.URL{Scheme: "http", Host: host, Path: "/v1/"}}
			response, err := x.RoundTrip(r.WithContext(t.Context()))
			if err != nil {
				t.Errorf("%s: %v", host, err)
				continue
			}
			_ = response.Body.Close()
			if got := strings.TrimPrefix(strings.Join(x.accounts, " "), "account=api/"); got != want {
				t.Errorf("%s: counted as %q, want %q", host, got, want)
			}
		}
	})
}

// A path counts for the account that the upstream takes it for.
func TestTransport_accountOfAnUncleanPath(t *testing.T) {
	u := example()
	u.Match, u.Account = []string{"api.example.com/accounts/{account}/"}, &policy.Account{Path: "account"}
	virtually(t, u, outbound.Options{Base: base(ok)}, func(t *testing.T, x *fixture) {
		for _, path := range []string{"/accounts/b/../a/", "/accounts/b/%2e%2e/a/", "/accounts//a/", "/accounts/./a/x", "//accounts/a", "/x/../accounts/a/"} {
			x.accounts = nil
			if _, err := x.get(t, "http://api.example.com"+path); err != nil || !slices.Equal(x.accounts, []string{"account=api/a"}) {
				t.Errorf("%s: counted as %q, %v", path, x.accounts, err)
			}
		}
		x.accounts = nil
		r := &http.Request{Method: http.MethodGet, URL: &url.URL{Scheme: "http", Host: "api.example.com", Opaque: "/accounts/a/x"}}
		response, err := x.RoundTrip(r.WithContext(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		if _ = response.Body.Close(); !slices.Equal(x.accounts, []string{"account=api/a"}) {
			t.Errorf("an opaque URL: counted as %q", x.accounts)
		}
	})
}

// An upstream that redirects to itself in other letters gains nothing.
func TestTransport_redirectsToAnotherSpelling(t *testing.T) {
	redirect := base(func(*http.Request) *http.Response {
		return respond(302, "Location", "http://ａｐｉ。example.com/v1/")
	})
	virtually(t, example(policy.Limit{Name: "minute", Limit: 3, Window: time.Minute}), outbound.Options{Base: redirect}, func(t *testing.T, x *fixture) {
		_, err := x.get(t, "http://api.example.com/v1/")
		if err == nil || !strings.Contains(err.Error(), "is refused by limit minute") || len(x.accounts) != 4 {
			t.Errorf("%d requests, %v", len(x.accounts), err)
		}
	})
}

// A response that names a part of the API pauses that part in every process, and other calls need not wait behind those for it.
func TestTransport_partsOfAnAPI(t *testing.T) {
	u := example()
	u.Match, u.MaxWait = []string{"api.github.com/"}, new(time.Hour)
	search := true
	github := base(func(r *http.Request) *http.Response {
		resource, remaining := "core", "4900"
		if strings.HasPrefix(r.URL.Path, "/search") {
			resource, remaining = "search", "29"
			if search {
				remaining = "0"
			}
		}
		if r.URL.Path == "/search/code" {
			resource, remaining = "code_search", "9"
		}
		return respond(200, "X-RateLimit-Resource", resource, "X-RateLimit-Remaining", remaining, "X-RateLimit-Reset", "946684845")
	})
	virtually(t, u, outbound.Options{Base: github}, func(t *testing.T, x *fixture) {
		get := func(path string) { // as often as it likes
			if _, err := x.get(t, "http://api.github.com"+path); err != nil {
				t.Error(err)
			}
		}
		get("/search/code")
		get("/search/issues")
		start, waited := time.Now(), make(chan time.Duration)
		go func() {
			search = false
			get("/search/issues")
			waited <- time.Since(start)
		}()
		time.Sleep(time.Second)
		for _, path := range []string{"/repos/a/b", "/repos/c/d", "/users/a", "/search/code"} {
			get(path)
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("the others took %s", took)
		}
		if took := <-waited; took < 44*time.Second {
			t.Errorf("search waited %s", took)
		}
		want := []string{"account=api/api.github.com", "account=api/api.github.com#search"}
		if err := x.Pause(t.Context(), want[1], time.Minute); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://api.github.com/search/issues", nil)
		_, err := x.Do(r)
		if err == nil || !strings.Contains(err.Error(), want[1]+" is refused by a pause") {
			t.Errorf("got %v", err)
		}
	})
}
