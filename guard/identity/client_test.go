package identity

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

var proxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8"), netip.MustParsePrefix("::ffff:172.16.0.0/108")}

func TestClient_forwardedFor(t *testing.T) {
	id := mustNew(t, Config{TrustedProxies: proxies})
	for _, c := range []struct {
		name, peer, want string
		lines            []string
	}{
		{"no header", "203.0.113.7:1", "203.0.113.7", nil},
		{"from nobody we trust", "203.0.113.7:1", "203.0.113.7", []string{"1.1.1.1"}},
		{"one proxy", "10.0.0.1:1", "203.0.113.7", []string{"203.0.113.7"}},
		{"a spoofed hop before it", "10.0.0.1:1", "203.0.113.7", []string{"1.1.1.1, 203.0.113.7"}},
		{"a spoofed trusted hop", "10.0.0.1:1", "203.0.113.7", []string{"10.0.0.9, 203.0.113.7"}},
		{"two proxies", "10.0.0.1:1", "203.0.113.7", []string{"1.1.1.1, 203.0.113.7, 10.0.0.2"}},
		{"lines are one list", "10.0.0.1:1", "203.0.113.7", []string{"1.1.1.1", "203.0.113.7", "10.0.0.2,10.0.0.3"}},
		{"everybody is trusted", "10.0.0.1:1", "10.0.0.3", []string{"10.0.0.3, 10.0.0.2"}},
		{"empty header", "10.0.0.1:1", "10.0.0.1", []string{""}},
		{"empty hops", "10.0.0.1:1", "203.0.113.7", []string{"203.0.113.7,, ,", ""}},
		{"garbage", "10.0.0.1:1", "10.0.0.1", []string{"1.1.1.1, unknown"}},
		{"garbage behind a proxy", "10.0.0.1:1", "10.0.0.2", []string{"1.1.1.1, unix:, 10.0.0.2"}},
		{"garbage line", "10.0.0.1:1", "10.0.0.2", []string{"1.1.1.1", "\xff\x00", "10.0.0.2"}},
		{"a script", "10.0.0.1:1", "10.0.0.1", []string{"<script>alert(1)</script>"}},
		{"CR LF", "10.0.0.1:1", "10.0.0.1", []string{"1.1.1.1\r\nX: y"}},
		{"ports", "10.0.0.1:1", "203.0.113.7", []string{"203.0.113.7:65535"}},
		{"no port", "10.0.0.1:1", "10.0.0.1", []string{"203.0.113.7:"}},
		{"a long port", "10.0.0.1:1", "10.0.0.1", []string{"203.0.113.7:123456"}},
		{"leading zeros", "10.0.0.1:1", "10.0.0.1", []string{"203.0.113.007"}},
		{"a number", "10.0.0.1:1", "10.0.0.1", []string{"3405803783"}},
		{"IPv6", "10.0.0.1:1", "2001:db8:1:2::/64", []string{"2001:db8:1:2:3:4:5:6"}},
		{"IPv6 in brackets", "[fd00::1]:443", "2001:db8:1:2::/64", []string{"[2001:db8:1:2::1]"}},
		{"IPv6 with a port", "10.0.0.1:1", "2001:db8:1:2::/64", []string{"[2001:db8:1:2::1]:443"}},
		{"IPv6 zone of the peer", "[fe80::1%eth0]:443", "fe80::/64", nil},
		{"IPv6 zone of a hop", "10.0.0.1:1", "fe80::/64", []string{"fe80::1%25eth0"}},
		{"IPv6 zone does not hide a proxy", "10.0.0.1:1", "203.0.113.7", []string{"203.0.113.7, fd00::1%x"}},
		{"brackets that stay open", "10.0.0.1:1", "10.0.0.1", []string{"[2001:db8::1"}},
		{"IPv4 in brackets", "10.0.0.1:1", "10.0.0.1", []string{"[203.0.113.7]"}},
		{"IPv4 inside IPv6", "[::ffff:10.0.0.1]:1", "203.0.113.7", []string{"::ffff:203.0.113.7"}},
		{"a proxy given as IPv4 inside IPv6", "172.16.0.1:1", "203.0.113.7", []string{"203.0.113.7"}},
		{"no port of the peer", "203.0.113.7", "203.0.113.7", nil},
		{"10,000 spoofed hops", "10.0.0.1:1", "203.0.113.7", []string{strings.Repeat("1.1.1.1,", 10_000) + "203.0.113.7"}},
		{"10,000 proxies", "10.0.0.1:1", "203.0.113.7", []string{"203.0.113.7" + strings.Repeat(",10.0.0.2", 10_000)}},
		{"10,000 lines", "10.0.0.1:1", "203.0.113.7", append([]string{"203.0.113.7"}, strings.Split(strings.Repeat("10.0.0.2,", 10_000), ",")...)},
		{"1 MiB without a comma", "10.0.0.1:1", "10.0.0.1", []string{strings.Repeat("1", 1<<20)}},
		{"1 MiB of commas", "10.0.0.1:1", "10.0.0.1", []string{strings.Repeat(",", 1<<20)}},
	} {
		want(t, id, c.name, "X-Forwarded-For", c.peer, c.want, c.lines)
	}
}

func TestClient_forwarded(t *testing.T) {
	id := mustNew(t, Config{TrustedProxies: proxies, IPHeader: "forwarded"})
	for _, c := range []struct{ name, want, line string }{
		{"plain", "203.0.113.7", "for=203.0.113.7"},
		{"with others", "203.0.113.7", `proto=https;For="203.0.113.7:4711";by=10.0.0.9`},
		{"IPv6", "2001:db8:1:2::/64", `for="[2001:db8:1:2::1]:4711"`},
		{"several", "203.0.113.7", `for=1.1.1.1, for=203.0.113.7, for=10.0.0.2`},
		{"quotes hide a comma", "203.0.113.7", `for=203.0.113.7;host="a, for=1.1.1.1", for=10.0.0.2`},
		{"quotes hide a semicolon", "203.0.113.7", `host="a;for=1.1.1.1";for=203.0.113.7`},
		{"an escaped quote", "203.0.113.7", `for=1.1.1.1, host="a\", for=2.2.2.2;x=\"";for=203.0.113.7`},
		{"quotes that the client left open", "203.0.113.7", `for="1.1.1.1, for=203.0.113.7`},
		{"open quotes at the end", "10.0.0.1", `for=1.1.1.1, for="203.0.113.7`},
		{"unknown", "10.0.0.2", `for=1.1.1.1, for=unknown, for=10.0.0.2`},
		{"obfuscated", "10.0.0.1", `for=_hidden`},
		{"no for", "10.0.0.1", `for=1.1.1.1, proto=http`},
		{"two of them", "10.0.0.1", `for=1.1.1.1;for=203.0.113.7`},
		{"no value", "10.0.0.1", `for`},
		{"in the other form", "10.0.0.1", `203.0.113.7`},
		{"empty", "10.0.0.1", ``},
		{"1 MiB of quotes", "10.0.0.1", strings.Repeat(`"`, 1<<20)},
		{"1 MiB of backslashes", "10.0.0.1", `for="` + strings.Repeat(`\`, 1<<20)},
		{"1 MiB of both", "10.0.0.1", `for=` + strings.Repeat(`\"`, 1<<19)},
	} {
		want(t, id, c.name, "Forwarded", "10.0.0.1:1", c.want, []string{c.line})
	}
}

func TestClient_prefixes(t *testing.T) {
	for bits, subject := range map[int]string{32: "2001:db8::/32", 56: "2001:db8:1::/56", 64: "2001:db8:1:2::/64", 128: "2001:db8:1:2:3:4:5:6"} {
		id := mustNew(t, Config{IPv6Prefix: bits})
		want(t, id, subject, "X-Forwarded-For", "[2001:db8:1:2:3:4:5:6]:1", subject, nil)
	}
}

func TestClient_aPeerWithoutAnAddress(t *testing.T) {
	id := mustNew(t, Config{TrustedProxies: proxies})
	for _, peer := range []string{"", "@", "/run/http.sock", "1.2.3.4:http"} {
		if got, err := id.Identify(&http.Request{RemoteAddr: peer}); err != ErrNone {
			t.Errorf("%q: %+v, %v", peer, got, err)
		}
	}
}

func want(t *testing.T, id *Identifier, name, header, peer, subject string, lines []string) {
	t.Helper()
	got, err := id.Identify(&http.Request{RemoteAddr: peer, Header: http.Header{header: lines}})
	if err != nil || got != (Identity{Subject: "ip=" + subject, Source: IP}) {
		t.Errorf("%s: want ip=%s, got %+v, %v", name, subject, got, err)
	}
}
