package identity

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var (
	compareAddr     = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })
	withoutAddr     = cmp.Options{cmpopts.IgnoreFields(Found{}, "Address"), cmpopts.EquateEmpty()}
	errSessionStore = errors.New("the session store is down")
)

// request returns a request with headers given in pairs.
func request(headers ...string) *http.Request {
	r := &http.Request{RemoteAddr: "192.0.2.1:4711", Header: http.Header{}, URL: &url.URL{Path: "/"}}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func withQuery(query string) *http.Request {
	r := request()
	r.URL.RawQuery = query
	return r
}

func mustNew(t testing.TB, o Options, identities ...Config) *Reader {
	t.Helper()
	r, err := New(o, identities...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// accepting verifies values that begin with good-.
type accepting struct{}

func (accepting) Verify(_ context.Context, value string) (string, error) {
	name, ok := strings.CutPrefix(value, "good-")
	if !ok {
		return "", errors.New("not good")
	}
	return name, nil
}

func TestRead_values(t *testing.T) {
	claimed := Config{Name: "key", Header: "x-api-key"}
	verified := Config{Name: "key", Header: "X-Api-Key", Verify: accepting{}}
	authorization := Config{Name: "key", Header: "Authorization", Verify: accepting{}}
	cookie := Config{Name: "session", Cookie: "sid"}
	query := Config{Name: "app", Query: "app id"}
	many := strings.Split(strings.Repeat("X-API-Key,", 9), ",")
	several := func(n int) *http.Request {
		r := request()
		for i := range n {
			r.Header.Add(many[0], fmt.Sprint(i))
		}
		return r
	}
	for _, c := range []struct {
		name     string
		identity Config
		r        *http.Request
		want     Found
	}{
		{"one header", claimed, request("X-API-Key", "a"), Found{Subjects: []string{"key=a"}}},
		{"no header", claimed, request(), Found{}},
		{"an empty header", claimed, request("X-API-Key", ""), Found{}},
		{"a header of spaces", claimed, request("X-API-Key", " \t "), Found{}},
		{"once more empty, before", claimed, request("X-API-Key", "", "X-API-Key", "a"), Found{Subjects: []string{"key=a"}}},
		{"once more empty, behind", claimed, request("X-API-Key", "a", "X-API-Key", ""), Found{Subjects: []string{"key=a"}}},
		{"twice the same", claimed, request("X-API-Key", "a", "X-API-Key", "a"), Found{Subjects: []string{"key=a"}}},
		{"a second value", claimed, request("X-API-Key", "a", "X-API-Key", "b"), Found{Subjects: []string{"key=a"}, Also: []string{"key=b"}}},
		{"a comma list", claimed, request("X-API-Key", "a, b"), Found{Subjects: []string{"key=a, b"}}},
		{"another spelling of a name", claimed, request("x-aPI-kEY", "a"), Found{Subjects: []string{"key=a"}}},
		{"a name with an underscore", claimed, request("X_API_Key", "a"), Found{}},
		{"8 values", claimed, several(8), Found{Subjects: []string{"key=0"}, Also: []string{"key=1", "key=2", "key=3", "key=4", "key=5", "key=6", "key=7"}}},

		{"verified", verified, request("X-API-Key", "good-a"), Found{Subjects: []string{"key=a"}}},
		{"not verified", verified, request("X-API-Key", "a"), Found{Also: []string{"key=a"}}},
		{"an unknown value before", verified, request("X-API-Key", "x", "X-API-Key", "good-a"), Found{Subjects: []string{"key=a"}, Also: []string{"key=x"}}},
		{"an unknown value behind", verified, request("X-API-Key", "good-a", "X-API-Key", "x"), Found{Subjects: []string{"key=a"}, Also: []string{"key=x"}}},
		{"an unknown value like a subject", verified, request("X-API-Key", "good-a", "X-API-Key", "a"), Found{Subjects: []string{"key=a"}}},
		{"verified twice the same", verified, request("X-API-Key", "good-a", "X-API-Key", "good-a"), Found{Subjects: []string{"key=a"}}},
		{"a verifier that returns nothing", verified, request("X-API-Key", "good-"), Found{Also: []string{"key=good-"}}},

		{"a cookie", cookie, request("Cookie", "other=1; sid=a"), Found{Subjects: []string{"session=a"}}},
		{"two cookies", cookie, request("Cookie", "sid=a; sid=b"), Found{Subjects: []string{"session=a"}, Also: []string{"session=b"}}},
		{"two lines of cookies", cookie, request("Cookie", "sid=", "Cookie", "sid=b"), Found{Subjects: []string{"session=b"}}},
		{"a quoted cookie", cookie, request("Cookie", `sid="a"`), Found{Subjects: []string{"session=a"}, Also: []string{`session="a"`}}},
		{"another cookie", cookie, request("Cookie", "SID=a"), Found{}},
		{"empty quotes", cookie, request("Cookie", `sid=""; sid=b`), Found{Subjects: []string{"session=b"}}},
		{"spaces around a cookie", cookie, request("Cookie", "x=1;\t sid = a ;y=2"), Found{Subjects: []string{"session=a"}}},
		{"percent escapes", cookie, request("Cookie", "sid=%61b"), Found{Subjects: []string{"session=ab"}, Also: []string{"session=%2561b"}}},
		{"escapes that are none", cookie, request("Cookie", "sid=100%"), Found{Subjects: []string{"session=100%25"}}},
		{"escapes of escapes", cookie, request("Cookie", "sid=%2561"), Found{Subjects: []string{"session=%2561"}, Also: []string{"session=%252561"}}},
		{"express-session", cookie, request("Cookie", "sid=s%3Aid.sig"), Found{Subjects: []string{"session=s:id.sig"}, Also: []string{"session=s%253Aid.sig"}}},
		{"octal escapes", cookie, request("Cookie", `sid="\141b\""`), Found{Subjects: []string{`session=ab"`}, Also: []string{`session=\141b\"`, `session="\141b\""`}}},
		{"octal escapes of percent escapes", cookie, request("Cookie", `sid="\04561"`), Found{
			Subjects: []string{"session=a"}, Also: []string{"session=%2561", `session=\04561`, `session="\04561"`},
		}},
		{"a semicolon in quotes", cookie, request("Cookie", `x="; sid=a; y="; sid=b`), Found{Subjects: []string{"session=a"}, Also: []string{"session=b"}}},
		{"its own semicolon in quotes", cookie, request("Cookie", `sid="a;b"`), Found{Subjects: []string{`session="a`}, Also: []string{"session=a;b", `session="a;b"`}}},
		{"white space between cookies", cookie, request("Cookie", "x=1 sid=a"), Found{Subjects: []string{"session=a"}}},
		{"white space behind a cookie", cookie, request("Cookie", "sid=a x=1"), Found{Subjects: []string{"session=a x=1"}, Also: []string{"session=a"}}},
		{"a quote without an end", cookie, request("Cookie", `sid="a%62.`), Found{
			Subjects: []string{`session="ab.`}, Also: []string{`session="a%2562.`, "session=ab"},
		}},
		{"a name that PHP reads", Config{Name: "session", Cookie: "s_i_d"}, request("Cookie", "sxixd=x; s.i d=a"), Found{Subjects: []string{"session=a"}}},
		{"3000 cookies", cookie, request("Cookie", strings.Repeat("x=1;", 2999)+"sid=a"), Found{Subjects: []string{"session=a"}}},

		{"a key in Authorization", authorization, request("Authorization", "good-a"), Found{Subjects: []string{"key=a"}}},
		{"with a scheme", authorization, request("Authorization", "Bearer good-a"), Found{Subjects: []string{"key=a"}}},
		{"with another scheme", authorization, request("Authorization", "Token good-a"), Found{Subjects: []string{"key=a"}}},
		{"with a scheme in lower case", authorization, request("Authorization", "bearer good-a"), Found{Subjects: []string{"key=a"}}},
		{"with two spaces", authorization, request("Authorization", "Bearer  good-a"), Found{Subjects: []string{"key=a"}}},
		{"with a tab", authorization, request("Authorization", "Bearer\tgood-a"), Found{Subjects: []string{"key=a"}}},
		{"with a space of Latin-1", authorization, request("Authorization", "Bearer\xa0good-a\xa0"), Found{Subjects: []string{"key=a"}}},
		{"behind another scheme", authorization, request("Authorization", "Basic x, Bearer good-a"), Found{Subjects: []string{"key=a"}, Also: []string{"key=x", "key=Basic x"}}},
		{"an unknown key", authorization, request("Authorization", "Bearer x"), Found{Also: []string{"key=x", "key=Bearer x"}}},
		{"an escaped key in a cookie", Config{Name: "key", Cookie: "sid", Verify: accepting{}}, request("Cookie", `sid="\147ood%2Da"`), Found{Subjects: []string{"key=a"}}},

		{"a parameter", query, withQuery("app+id=a%20b&x=1"), Found{Subjects: []string{"app=a b"}}},
		{"an escaped name", query, withQuery("%61pp%20id=a"), Found{Subjects: []string{"app=a"}}},
		{"two parameters", query, withQuery("app+id=a&app+id=&app+id=b"), Found{Subjects: []string{"app=a"}, Also: []string{"app=b"}}},
		{"a semicolon before", query, withQuery("x=1;app+id=a"), Found{Subjects: []string{"app=a"}}},
		{"a semicolon behind", query, withQuery("app+id=a;x=1"), Found{Subjects: []string{"app=a;x=1"}, Also: []string{"app=a"}}},
		{"a broken escape", query, withQuery("app+id=%zz%61"), Found{Subjects: []string{"app=%25zza"}}},
		{"no value", query, withQuery("app+id"), Found{}},
		{"no URL", query, &http.Request{}, Found{}},
		{"1 MiB of parameters", query, withQuery(strings.Repeat("a=b&", 1<<18) + "app+id=a"), Found{Subjects: []string{"app=a"}}},
	} {
		got, err := mustNew(t, Options{}, c.identity).Read(c.r, nil)
		if diff := cmp.Diff(c.want, got, withoutAddr); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, diff)
		}
	}
}

func TestRead_rejectsAmbiguousRequests(t *testing.T) {
	lines := func(header, format string, n int) *http.Request {
		r := request()
		for i := range n {
			r.Header.Add(header, fmt.Sprintf(format, i))
		}
		return r
	}
	for _, c := range []struct {
		name, want string
		identity   Config
		r          *http.Request
	}{
		{
			"two values that verify", "identity key: the request is ambiguous: two different values verify",
			Config{Name: "key", Header: "X-API-Key", Verify: accepting{}},
			lines("X-API-Key", "good-%d", 2),
		},
		{
			"9 headers", "identity key: the request is ambiguous: more than 8 different values",
			Config{Name: "key", Header: "X-API-Key"},
			lines("X-API-Key", "%d", 9),
		},
		{
			"10,000 cookies", "identity key: the request is ambiguous: more than 8 different values",
			Config{Name: "key", Cookie: "sid"},
			lines("Cookie", "sid=%d", 2000),
		},
		{
			"more cookies than net/http reads", "identity key: the request is ambiguous: more than 3000 cookies",
			Config{Name: "key", Cookie: "sid"},
			request("Cookie", "sid=a; "+strings.Repeat("x=1;", 3000)),
		},
		{
			"more lines of cookies than net/http reads", "identity key: the request is ambiguous: more than 3000 cookies",
			Config{Name: "key", Cookie: "sid"},
			lines("Cookie", "x=%d", 3001),
		},
		{
			"more cookies than net/http reads, and a token", "identity key: the request is ambiguous: more than 3000 cookies",
			Config{Name: "key", JWT: &JWT{Cookie: "sid", Keys: "https://id.example/jwks.json"}},
			request("Cookie", strings.Repeat("x=1;", 3001)),
		},
		{
			"a cookie that verifies raw and decoded", "identity key: the request is ambiguous: two different values verify",
			Config{Name: "key", Cookie: "sid", Verify: accepting{}},
			request("Cookie", "sid=good-%61"),
		},
		{
			"100,000 parameters", "identity key: the request is ambiguous: more than 8 different values",
			Config{Name: "key", Query: "k"},
			withQuery("k=0" + strings.Repeat("&k=1&k=2&k=3&k=4&k=5&k=6&k=7&k=8", 10_000)),
		},
	} {
		got, err := mustNew(t, Options{}, Config{Name: "ip", Address: true}, c.identity).Read(c.r, nil)
		if !errors.Is(err, ErrAmbiguous) || err.Error() != c.want || got.Subjects != nil || !got.Address.IsValid() {
			t.Errorf("%s: got %+v, %v", c.name, got, err)
		}
	}
}

func TestRead_path(t *testing.T) {
	r := mustNew(t, Options{}, Config{Name: "tenant", Path: "tenant"})
	path := func(value string) func(string) string {
		return func(wildcard string) string { return map[string]string{"tenant": value}[wildcard] }
	}
	for value, want := range map[string][]string{"acme": {"tenant=acme"}, "a+b": {"tenant=a%2Bb"}, "..": {"tenant=.."}, "a/b": {"tenant=a/b"}, "": nil} {
		got, err := r.Read(request(), path(value))
		if diff := cmp.Diff(Found{Subjects: want}, got, withoutAddr); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", value, err, diff)
		}
	}
	if got, err := r.Read(request(), nil); got.Subjects != nil || err != nil {
		t.Errorf("without a pattern: %+v, %v", got, err)
	}
}

func TestRead_serviceFunc(t *testing.T) {
	r := mustNew(t, Options{}, Config{Name: "user", Func: func(r *http.Request) (string, error) {
		switch user := r.Header.Get("User"); user {
		case "none":
			return "ignored", fmt.Errorf("no session: %w", ErrNone)
		case "broken":
			return "", errSessionStore
		default:
			return user, nil
		}
	}}, Config{Name: "ip", Address: true})
	for user, want := range map[string][]string{
		"ann": {"user=ann", "ip=192.0.2.1"}, "a\u202eb": {"user=" + Value("a\u202eb"), "ip=192.0.2.1"}, "none": {"ip=192.0.2.1"}, "": {"ip=192.0.2.1"},
	} {
		got, err := r.Read(request("User", user), nil)
		if diff := cmp.Diff(want, got.Subjects); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", user, err, diff)
		}
	}
	if _, err := r.Read(request("User", "broken"), nil); !errors.Is(err, errSessionStore) || errors.Is(err, ErrAmbiguous) || err.Error() != "identity user: the session store is down" {
		t.Errorf("got %v", err)
	}
}

func TestRead_returnsSubjectsInConfigOrder(t *testing.T) {
	r := mustNew(t, Options{},
		Config{Name: "b", Header: "B"}, Config{Name: "ip", Address: true}, Config{Name: "a", Header: "A"}, Config{Name: "c", Header: "C"})
	got, err := r.Read(request("A", strings.Repeat("a", 256), "B", strings.Repeat("b", 256), "X", "x"), nil)
	want := []string{"b=" + strings.Repeat("b", 256), "ip=192.0.2.1", "a=" + strings.Repeat("a", 256)}
	if diff := cmp.Diff(want, got.Subjects); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for name, want := range map[string]string{"a": want[2], "b": want[0], "c": "", "i": "", "": ""} {
		if got := got.Subject(name); got != want {
			t.Errorf("Subject(%q) = %q, want %q", name, got, want)
		}
	}
}
