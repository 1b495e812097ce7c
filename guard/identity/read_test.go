package identity

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
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

// one is an identity with the code that it needs.
type one struct {
	name string
	Identity
	read   Func
	verify Verifier
}

func newReader(o Options, all ...one) (*Reader, error) {
	identities, code := map[string]Identity{}, Code{Funcs: map[string]Func{}, Verifiers: map[string]Verifier{}}
	for _, c := range all {
		if c.read != nil {
			c.Func, code.Funcs[c.name] = true, c.read
		}
		if c.verify != nil {
			c.Verify, code.Verifiers[c.name] = &Verify{Func: true}, c.verify
		}
		identities[c.name] = c.Identity
	}
	return New(identities, code, o)
}

func mustNew(t testing.TB, o Options, identities ...one) *Reader {
	t.Helper()
	r, err := newReader(o, identities...)
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
	claimed := one{name: "key", Identity: Identity{Header: "x-api-key"}}
	verified := one{name: "key", Identity: Identity{Header: "X-Api-Key"}, verify: accepting{}}
	authorization := one{name: "key", Identity: Identity{Header: "Authorization"}, verify: accepting{}}
	cookie := one{name: "session", Identity: Identity{Cookie: "sid"}}
	query := one{name: "app", Identity: Identity{Query: "app id"}}
	const (
		oddCookie    = "a cookie with a quote, a backslash or white space in its value"
		hiddenCookie = "a cookie behind white space, a comma or a quote"
	)
	lines := func(header, format string, n int) *http.Request {
		r := request()
		for i := range n {
			r.Header.Add(header, fmt.Sprintf(format, i))
		}
		return r
	}
	for _, c := range []struct {
		name     string
		identity one
		r        *http.Request
		want     string // the subject
		why      string // it is ambiguous
	}{
		{"one header", claimed, request("X-API-Key", "a"), "key=a", ""},
		{"no header", claimed, request(), "", ""},
		{"an empty header", claimed, request("X-API-Key", ""), "", ""},
		{"a header of spaces", claimed, request("X-API-Key", " \t "), "", ""},
		{"once more empty, before", claimed, request("X-API-Key", "", "X-API-Key", "a"), "key=a", ""},
		{"once more empty, behind", claimed, request("X-API-Key", "a", "X-API-Key", ""), "key=a", ""},
		{"twice the same", claimed, request("X-API-Key", "a", "X-API-Key", "a"), "key=a", ""},
		{"a second value", claimed, request("X-API-Key", "a", "X-API-Key", "b"), "", "two different values"},
		{"a comma list", claimed, request("X-API-Key", "a, b"), "key=a, b", ""},
		{"another spelling of a name", claimed, request("x-aPI-kEY", "a"), "key=a", ""},
		{"a name with underscores", claimed, request("X_API_Key", "a"), "", `the header "X_api_key"`},
		{"a name with an underscore", claimed, request("X-API-Key", "b", "X-API_Key", "a"), "", `the header "X-Api_key"`},
		{"9 headers", claimed, lines("X-API-Key", "%d", 9), "", "more than 8 different values"},

		{"verified", verified, request("X-API-Key", "good-a"), "key=a", ""},
		{"not verified", verified, request("X-API-Key", "a"), "", ""},
		{"an unknown value before", verified, request("X-API-Key", "x", "X-API-Key", "good-a"), "key=a", ""},
		{"an unknown value behind", verified, request("X-API-Key", "good-a", "X-API-Key", "x"), "key=a", ""},
		{"verified twice the same", verified, request("X-API-Key", "good-a", "X-API-Key", "good-a"), "key=a", ""},
		{"two values that verify", verified, lines("X-API-Key", "good-%d", 2), "", "two different values verify"},
		{"a verifier that returns nothing", verified, request("X-API-Key", "good-"), "", ""},

		{"a cookie", cookie, request("Cookie", "other=1; sid=a"), "session=a", ""},
		{"two cookies", cookie, request("Cookie", "sid=a; sid=b"), "", "two different values"},
		{"two cookies of one value", cookie, request("Cookie", `sid=a; sid="%61"`), "session=a", ""},
		{"two lines of cookies", cookie, request("Cookie", "sid=", "Cookie", "sid=b"), "session=b", ""},
		{"a quoted cookie", cookie, request("Cookie", `sid="a"`), "session=a", ""},
		{"another cookie", cookie, request("Cookie", "SID=a; xsid=b"), "", ""},
		{"empty quotes", cookie, request("Cookie", `sid=""; sid=b`), "session=b", ""},
		{"spaces around a cookie", cookie, request("Cookie", "x=1;\t sid = a ;y=2"), "session=a", ""},
		{"percent escapes", cookie, request("Cookie", "sid=%61b"), "session=ab", ""},
		{"escapes that are none", cookie, request("Cookie", "sid=100%"), "session=100%25", ""},
		{"escapes of escapes", cookie, request("Cookie", "sid=%2561"), "session=%2561", ""},
		{"express-session", cookie, request("Cookie", "sid=s%3Aid.sig"), "session=s:id.sig", ""},
		{"octal escapes", cookie, request("Cookie", `sid="\141b\""`), "", oddCookie},
		{"a semicolon in quotes", cookie, request("Cookie", `x="; sid=a; y="; sid=b`), "", "two different values"},
		{"its own semicolon in quotes", cookie, request("Cookie", `sid="a;b"`), "", oddCookie},
		{"white space between cookies", cookie, request("Cookie", "x=1 sid=a"), "", hiddenCookie},
		{"a comma between cookies", cookie, request("Cookie", "x=1,sid=a"), "", hiddenCookie},
		{"a quote before a cookie", cookie, request("Cookie", `x="sid=a"`), "", hiddenCookie},
		{"white space behind a cookie", cookie, request("Cookie", "sid=a x=1"), "", oddCookie},
		{"a quote without an end", cookie, request("Cookie", `sid="a%62.`), "", oddCookie},
		{"a name that PHP reads", one{name: "session", Identity: Identity{Cookie: "s_i_d"}}, request("Cookie", "sxixd=x; s.i d=a"), "", `the cookie "s.i d"`},
		{"10,000 cookies", cookie, lines("Cookie", "sid=%d", 2000), "", "more than 8 different values"},
		{"1 MiB of cookies", cookie, request("Cookie", strings.Repeat("x=1;", 1<<18)+"sid=a"), "session=a", ""},

		{"a key in Authorization", authorization, request("Authorization", "good-a"), "key=a", ""},
		{"with a scheme", authorization, request("Authorization", "Bearer good-a"), "key=a", ""},
		{"with another scheme", authorization, request("Authorization", "Token good-a"), "key=a", ""},
		{"with a scheme in lower case", authorization, request("Authorization", "bearer good-a"), "key=a", ""},
		{"with two spaces", authorization, request("Authorization", "Bearer  good-a"), "key=a", ""},
		{"with a tab", authorization, request("Authorization", "Bearer\tgood-a"), "key=a", ""},
		{"with a space of Latin-1", authorization, request("Authorization", "Bearer\xa0good-a\xa0"), "key=a", ""},
		{"behind another scheme", authorization, request("Authorization", "Basic x, Bearer good-a"), "key=a", ""},
		{"an unknown key", authorization, request("Authorization", "Bearer x"), "", ""},
		{"an escaped key in a cookie", one{name: "key", Identity: Identity{Cookie: "sid"}, verify: accepting{}}, request("Cookie", `sid="%67ood%2Da"`), "key=a", ""},

		{"a parameter", query, withQuery("app+id=a%20b&x=1"), "app=a b", ""},
		{"an escaped name", query, withQuery("%61pp%20id=a"), "app=a", ""},
		{"two parameters", query, withQuery("app+id=a&app+id=&app+id=b"), "", "two different values"},
		{"a semicolon before", query, withQuery("x=1;app+id=a"), "", "a query with a semicolon"},
		{"a semicolon behind", query, withQuery("app+id=a;x=1"), "", "a query with a semicolon"},
		{"a semicolon elsewhere", query, withQuery("app+id=a&x=1;y=2"), "app=a", ""},
		{"a broken escape", query, withQuery("app+id=%zz%61"), "", "a query parameter with a broken escape"},
		{"a name that PHP reads", one{name: "app", Identity: Identity{Query: "app_id"}}, withQuery("app.id=a"), "", `the query parameter "app.id"`},
		{"no value", query, withQuery("app+id"), "", ""},
		{"no URL", query, &http.Request{}, "", ""},
		{"1 MiB of parameters", query, withQuery(strings.Repeat("a=b&", 1<<18) + "app+id=a"), "app=a", ""},
		{"100,000 parameters", query, withQuery("app+id=0" + strings.Repeat("&app+id=1&app+id=2&app+id=3&app+id=4&app+id=5&app+id=6&app+id=7&app+id=8", 10_000)), "", "more than 8 different values"},
	} {
		got, err := mustNew(t, Options{}, c.identity).Read(c.r, nil)
		want := Found{}
		if c.want != "" {
			want.Subjects = []string{c.want}
		}
		if diff := cmp.Diff(want, got, withoutAddr); diff != "" || err != nil && !errors.Is(err, ErrAmbiguous) {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, diff)
		}
		why := ""
		if err != nil {
			_, why, _ = strings.Cut(err.Error(), "the request is ambiguous: ")
		}
		if why != c.why {
			t.Errorf("%s: ambiguous as %q, want %q", c.name, why, c.why)
		}
	}
}

func TestRead_path(t *testing.T) {
	r := mustNew(t, Options{}, one{name: "tenant", Identity: Identity{Path: "tenant"}})
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
	r := mustNew(t, Options{}, one{name: "user", read: func(r *http.Request) (string, error) {
		switch user := r.Header.Get("User"); user {
		case "none":
			return "ignored", fmt.Errorf("no session: %w", ErrNone)
		case "broken":
			return "", errSessionStore
		default:
			return user, nil
		}
	}}, one{name: "ip"})
	for user, want := range map[string][]string{
		"ann": {"ip=192.0.2.1", "user=ann"}, "a\u202eb": {"ip=192.0.2.1", "user=" + Value("a\u202eb")}, "none": {"ip=192.0.2.1"}, "": {"ip=192.0.2.1"},
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

func TestRead_returnsSubjectsInTheOrderOfNames(t *testing.T) {
	r := mustNew(t, Options{},
		one{name: "b", Identity: Identity{Header: "B"}}, one{name: "ip"}, one{name: "a", Identity: Identity{Header: "A"}}, one{name: "c", Identity: Identity{Header: "C"}})
	got, err := r.Read(request("A", strings.Repeat("a", 256), "B", strings.Repeat("b", 256), "X", "x"), nil)
	want := []string{"a=" + strings.Repeat("a", 256), "b=" + strings.Repeat("b", 256), "ip=192.0.2.1"}
	if diff := cmp.Diff(want, got.Subjects); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for name, want := range map[string]string{"a": want[0], "b": want[1], "c": "", "i": "", "": ""} {
		if got := got.Subject(name); got != want {
			t.Errorf("Subject(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestRead_claimedFingerprints(t *testing.T) {
	r := mustNew(t, Options{}, one{name: "fp", Identity: Identity{Fingerprint: "X-Fingerprint"}})
	for name, c := range map[string]struct{ value, want string }{
		"whole":           {"fp:c1:ab12", "fp=ab12"},
		"other challenge": {"fp:c2:ab12", "fp=ab12"},
		"as it is":        {"ab12", "fp=ab12"},
		"IPv6":            {"2001:db8::1:7334", "fp=2001:db8::1:7334"},
		"its neighbor":    {"2002:db9::2:7334", "fp=2002:db9::2:7334"},
		"four parts":      {"fp:a:b:c", "fp=fp:a:b:c"},
		"two parts":       {"fp:a", "fp=fp:a"},
		"no challenge":    {"fp::ab12", "fp=fp::ab12"},
		"no hash":         {"fp:a:", "fp=fp:a:"},
		"capitals":        {"FP:a:b", "fp=FP:a:b"},
		"CR LF":           {"fp:c1:a\r\nb", "fp=~18745f36a05e29072709042d6062ce54"},
		"NUL":             {"\x00", "fp=~6e340b9cffb37a989ca544e6bb780a2c"},
		"invalid UTF-8":   {"\xff", "fp=~a8100ae6aa1940d0b663bb31cd466142"},
		"1 MiB":           {strings.Repeat("a", 1<<20), "fp=~9bc1b2a288b26af7257a36277ae3816a"},
	} {
		got, err := r.Read(request("X-Fingerprint", c.value), nil) // neither Challenge nor Receipt: the client chose the value
		if diff := cmp.Diff(Found{Subjects: []string{c.want}}, got, withoutAddr); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestRead_verifiedFingerprints(t *testing.T) {
	h := mustHMAC(t, start, oldKey)
	r := mustNew(t, Options{}, one{name: "device", Identity: Identity{Fingerprint: "X-Fingerprint"}, verify: h})
	signed, other := mustSign(t, h, "c1", "ab12"), mustSign(t, h, "c2", "ab12")
	longest := mustSign(t, h, strings.Repeat("c", maxChallenge), strings.Repeat("h", maxHash))
	for name, c := range map[string]struct {
		lines []string
		want  Found
	}{
		"signed":             {[]string{signed}, Found{Subjects: []string{"device=ab12"}, Challenge: "c1", Receipt: signed}},
		"not signed":         {[]string{"fp:c1:ab12"}, Found{}},
		"changed":            {[]string{signed + "x"}, Found{}},
		"of no form":         {[]string{"ab12"}, Found{}},
		"and another device": {[]string{"fp:c1:cd34", signed}, Found{Subjects: []string{"device=ab12"}, Challenge: "c1", Receipt: signed}},
		"longest": {[]string{longest}, Found{
			Subjects: []string{"device=" + strings.Repeat("h", maxHash)}, Challenge: strings.Repeat("c", maxChallenge), Receipt: shorten(longest, maxReceipt),
		}},
	} {
		req := request()
		req.Header["X-Fingerprint"] = c.lines
		got, err := r.Read(req, nil)
		if diff := cmp.Diff(c.want, got, withoutAddr); diff != "" || err != nil || len(got.Receipt) > maxReceipt {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	if got, err := r.Read(request("X-Fingerprint", signed, "X-Fingerprint", other), nil); err == nil {
		t.Errorf("two that are signed: %+v", got)
	}
}

// Only Fingerprint sets Receipt, whatever the verifier is.
func TestRead_signedHeaderSetsNoReceipt(t *testing.T) {
	h := mustHMAC(t, start, oldKey)
	r := mustNew(t, Options{}, one{name: "device", Identity: Identity{Header: "X-Device"}, verify: h})
	got, err := r.Read(request("X-Device", mustSign(t, h, "c1", "ab12")), nil)
	if diff := cmp.Diff(Found{Subjects: []string{"device=ab12"}}, got, withoutAddr); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestRead_certificates(t *testing.T) {
	uri, _ := url.Parse("spiffe://example.org/chat")
	leaf := &x509.Certificate{
		Raw: []byte("certificate"), Subject: pkix.Name{CommonName: "chat"},
		DNSNames: []string{"", "Chat.Example.", "other.example"}, URIs: []*url.URL{uri},
	}
	verified := &tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}, VerifiedChains: [][]*x509.Certificate{{leaf}}}
	bare := &x509.Certificate{Subject: pkix.Name{CommonName: "a\u202eb"}}
	for _, c := range []struct {
		name  string
		state *tls.ConnectionState
		part  CertificatePart
		want  Found
	}{
		{"sha256", verified, CertificateSHA256, Found{Subjects: []string{"peer=03d66dd08835c1ca3f128cceacd1f31ac94163096b20f445ae84285bc0832d72"}}},
		{"common name", verified, CertificateCommonName, Found{Subjects: []string{"peer=chat"}}},
		{"DNS names", verified, CertificateDNS, Found{Subjects: []string{"peer=chat.example"}}},
		{"URI", verified, CertificateURI, Found{Subjects: []string{"peer=spiffe://example.org/chat"}}},
		{"no TLS", nil, CertificateURI, Found{}},
		{"no certificate", &tls.ConnectionState{}, CertificateURI, Found{}},
		{"one that is not verified", &tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}}, CertificateCommonName, Found{}},
		{"an empty chain", &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{}}}, CertificateCommonName, Found{}},
		{"one without names", &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{bare}}}, CertificateDNS, Found{}},
		{"an invisible name", &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{bare}}}, CertificateCommonName, Found{Subjects: []string{"peer=" + Value("a\u202eb")}}},
	} {
		req := request()
		req.TLS = c.state
		got, err := mustNew(t, Options{}, one{name: "peer", Identity: Identity{Certificate: c.part}}).Read(req, nil)
		if diff := cmp.Diff(c.want, got, withoutAddr); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, diff)
		}
	}
}
