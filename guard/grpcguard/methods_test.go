package grpcguard_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/rlfunc/rlfunc/guard/grpcguard"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
)

type tcp string

func (tcp) Network() string  { return "tcp" }
func (a tcp) String() string { return string(a) }

// from returns the context of a call as a server sees it.
func from(t *testing.T, addr string, pairs ...string) context.Context {
	t.Helper()
	ctx := peer.NewContext(t.Context(), &peer.Peer{Addr: tcp(addr)})
	return metadata.NewIncomingContext(ctx, metadata.Pairs(pairs...))
}

const chatAndAsk = `
endpoints:
  - {name: all, match: ["/chat.Chat/*"], limits: [{name: minute, limit: 1000, window: 1m}]}
  - {name: ask, match: ["/chat.Chat/Ask"], limits: [{name: minute, limit: 1000, window: 1m}]}`

// A call is of one endpoint, or refused because proxies and servers read its method in different ways.
func TestMethods_noSpellingAvoidsALimit(t *testing.T) {
	const (
		noSlash = "it does not begin with a slash"
		unclean = "it has an empty segment or a dot segment"
		escape  = "it has an escape or a query"
		slash   = "it ends with a slash"
	)
	i := serveOnly(t, chatAndAsk)
	for method, want := range map[string]string{
		"/chat.Chat/Ask":                  "ask",
		"/chat.Chat/Say":                  "all",
		"/chat.Chat/ask":                  "all",
		"/chat.Chat/A\u017fk":             "all",
		"/CHAT.Chat/Ask":                  "",
		"/chat/Ask":                       "",
		"/chat.Chat.Other/Ask":            "",
		"/x/chat.Chat/Ask":                "",
		"/grpc.reflection.v1.Server/Info": "",
		"chat.Chat/Ask":                   noSlash,
		"Ask":                             noSlash,
		"":                                noSlash,
		"//chat.Chat/Ask":                 unclean,
		"////chat.Chat/Ask":               unclean,
		"/chat.Chat//Ask":                 unclean,
		"/chat.Chat/Ask//":                unclean,
		"/chat.Chat/./Ask":                unclean,
		"/x/../chat.Chat/Ask":             unclean,
		"/chat.Chat/x/../Ask":             unclean,
		"/chat.Chat/Ask/":                 slash,
		"/chat.Chat/":                     slash,
		"/":                               slash,
		"/chat.Chat%2FAsk":                "it has an escaped slash",
		"/%63hat.Chat/Ask":                escape,
		"/chat.Chat/Ask%":                 escape,
		"/chat.Chat/Say?x=/chat.Chat/Ask": escape,
		"/chat.Chat/Ask;x":                "it has a semicolon",
		`/chat.Chat\Ask`:                  "it has a backslash",
		"/chat.Chat/Ask#x":                "it has a fragment",
		"/chat.Chat/\x00\xff\u202e":       "it has a control character",
		"/chat.Chat" + strings.Repeat("/", 64<<10) + "Ask": unclean,
	} {
		e, err := i.Explain(from(t, "203.0.113.7:1"), method)
		got := ""
		if err != nil {
			_, got, _ = strings.Cut(err.Error(), "the method of the call is ambiguous: ")
		} else {
			got = e.Request.Endpoint
		}
		if got != want {
			t.Errorf("%.60q: %q, want %q", method, got, want)
		}
		_, err = i.Unary(from(t, "203.0.113.7:1"), nil, &grpc.UnaryServerInfo{FullMethod: method}, func(context.Context, any) (any, error) { return nil, nil })
		if refused := status.Code(err) == codes.InvalidArgument; refused != strings.Contains(want, " ") {
			t.Errorf("%.60q: %v", method, err)
		}
	}
}

func serveOnly(t *testing.T, yaml string) *grpcguard.Interceptor {
	t.Helper()
	return serve(t, yaml, grpcguard.Options{}, nil).interceptor
}

// An exempt method is decided by nothing, however often and by whom it is called, and no other spelling of a method is exempt.
func TestExempt_methods(t *testing.T) {
	everything := func(string) string { return "all" }
	f := serve(t, `
exempt: ["/grpc.health.v1.Health/*", "/chat.Chat/Listen", "/chat.Chat/Say"]
unmatched: refuse
limits: [{name: whole, by: all, limit: 1, window: 1h}]
overrides: {deny: [key=eve]}
endpoints: [{name: all, match: ["/chat.Chat/*"], limits: [{name: hour, limit: 1, window: 1h}]}]`, grpcguard.Options{Messages: everything}, nil)
	for _, method := range []string{"/chat.Chat/Say", "/chat.Chat/Listen", "/chat.Chat/Say", "/chat.Chat/Listen"} {
		if err := f.call(t.Context(), method, "x-api-key", "eve"); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
	for method, want := range map[string]bool{
		"/grpc.health.v1.Health/Check": true, "/grpc.health.v1.Health/Watch": true, "/chat.Chat/Say": true,
		"/chat.Chat/Ask": false, "/chat.Chat/say": false, "/CHAT.Chat/Say": false, "chat.Chat/Say": false, "//chat.Chat/Say": false,
		"/chat.Chat/%53ay": false, "/chat.Chat/Say/": false, "/chat.Chat/./Say": false, "/chat.Chat/Ask/../Say": false, "/chat.Chat/Say;x": false,
		"/grpc.health.v1.Health/../chat.Chat/Ask": false, "/grpc.health.v1.Health/..;/chat.Chat/Ask": false, `/grpc.health.v1.Health/..\Ask`: false,
		"/grpc.health.v1.Health/%2e%2e": false, "/grpc.health.v1.HealthX/Check": false, "": false, "/": false,
	} {
		if e, _ := f.interceptor.Explain(from(t, "203.0.113.7:1"), method); e.Exempt != want {
			t.Errorf("%q: exempt %v, want %v", method, e.Exempt, want)
		}
	}
}

func TestExplain_listsWhatWouldCount(t *testing.T) {
	i := serveOnly(t, `
limits: [{name: address, by: ip, limit: 5, window: 1m}]`+chatAndAsk)
	e, err := i.Explain(from(t, "[2001:db8::1]:443", "x-api-key", "ada", "x-api-key", ""), "/chat.Chat/Ask")
	if err != nil {
		t.Fatal(err)
	}
	var limits []string
	for _, l := range e.Limits {
		limits = append(limits, l.Name+" "+l.Subject)
	}
	if diff := cmp.Diff([]string{"address ip=2001:db8::/64", "minute key=ada"}, limits); diff != "" || e.Subject != "key=ada" {
		t.Errorf("%+v (-want +got):\n%s", e, diff)
	}
	if e, err := i.Explain(from(t, "203.0.113.7:1"), "/other.Service/Method"); err != nil || e.Request.Endpoint != "" || e.Limits != nil {
		t.Errorf("a method that no endpoint matches: %+v, %v", e, err)
	}
	if _, err := i.Explain(from(t, "203.0.113.7:1", "x-api-key", "ada", "x-api-key", "bob"), "/chat.Chat/Ask"); err == nil {
		t.Error("a call with two clients has an explanation")
	}
}

// A peer on a Unix socket chooses the name of its own socket, so that is no address. Its metadata counts if the policy trusts it.
func TestMethods_unixSocket(t *testing.T) {
	const perAddress = `  ip: {trusted_proxies: [%s]}
endpoints: [{name: ask, match: ["/chat.Chat/Ask"], limits: [{name: minute, by: ip, limit: 1000, window: 1m}]}]`
	name := &net.UnixAddr{Name: "203.0.113.7:1", Net: "unix"}
	ctx := peer.NewContext(metadata.NewIncomingContext(t.Context(), metadata.Pairs("x-forwarded-for", "198.51.100.1")), &peer.Peer{Addr: name})
	for proxy, want := range map[string]string{"203.0.113.7": "", "unix": "ip=198.51.100.1"} {
		f := serve(t, fmt.Sprintf(perAddress, proxy), grpcguard.Options{}, nil)
		e, err := f.interceptor.Explain(ctx, "/chat.Chat/Ask")
		if got := strings.Join(e.Request.Subjects, " "); got != want || err != nil {
			t.Errorf("%s: want %q, got %q, %v", proxy, want, got, err)
		}
	}
}

// verifierFunc is a func that verifies values.
type verifierFunc func(string) (string, error)

func (f verifierFunc) Verify(_ context.Context, value string) (string, error) { return f(value) }

// A client whose address is denied has no token or key verified.
func TestDeny_ofTheAddressVerifiesNothing(t *testing.T) {
	code := policy.Code{Verifiers: map[string]identity.Verifier{"key": verifierFunc(func(value string) (string, error) {
		t.Errorf("%s is verified", value)
		return value, nil
	})}}
	f := serve(t, "overrides: {deny: [ip=203.0.113.7]}"+chatAndAsk, grpcguard.Options{Code: code}, nil)
	ctx := from(t, "203.0.113.7:1", "x-api-key", "ada")
	_, err := f.interceptor.Unary(ctx, nil, &grpc.UnaryServerInfo{FullMethod: "/chat.Chat/Ask"}, nil)
	if status.Code(err) != codes.PermissionDenied {
		t.Error(err)
	}
}
