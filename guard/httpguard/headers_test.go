package httpguard_test

import (
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
