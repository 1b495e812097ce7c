package identity

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var trusted = []string{"10.0.0.0/8", "fd00::/8", "::ffff:172.16.0.0/108"}

func TestClient_forwardedFor(t *testing.T) {
	r := mustNew(t, Options{}, one{name: "ip", Identity: Identity{TrustedProxies: trusted}})
	for _, c := range []struct {
		name, peer, want string
		lines            []string
	}{
		{"no header", "203.0.113.7:1", "203.0.113.7", nil},
		{"an untrusted peer", "203.0.113.7:1", "203.0.113.7", []string{"1.1.1.1"}},
		{"one proxy", "10.0.0.1:1", "203.0.113.7", []string{"203.0.113.7"}},
		{"a spoofed hop before it", "10.0.0.1:1", "203.0.113.7", []string{"1.1.1.1, 203.0.113.7"}},
		{"a spoofed trusted hop", "10.0.0.1:1", "203.0.113.7", []string{"10.0.0.9, 203.0.113.7"}},
		{"two proxies", "10.0.0.1:1", "203.0.113.7", []string{"1.1.1.1, 203.0.113.7, 10.0.0.2"}},
		{"lines are one list", "10.0.0.1:1", "203.0.113.7", []string{"1.1.1.1", "203.0.113.7", "10.0.0.2,10.0.0.3"}},
		{"every hop is trusted", "10.0.0.1:1", "10.0.0.3", []string{"10.0.0.3, 10.0.0.2"}},
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
		{"31 proxies", "10.0.0.1:1", "203.0.113.7", []string{"203.0.113.7" + strings.Repeat(",10.0.0.2", 31)}},
		{"10,000 proxies", "10.0.0.1:1", "10.0.0.2", []string{"203.0.113.7" + strings.Repeat(",10.0.0.2", 10_000)}},
		{"10,000 lines", "10.0.0.1:1", "10.0.0.2", append([]string{"203.0.113.7"}, strings.Split(strings.Repeat("10.0.0.2,", 10_000), ",")...)},
		{"1 MiB without a comma", "10.0.0.1:1", "10.0.0.1", []string{strings.Repeat("1", 1<<20)}},
		{"1 MiB of commas", "10.0.0.1:1", "10.0.0.1", []string{strings.Repeat(",", 1<<20)}},
	} {
		want(t, r, c.name, "X-Forwarded-For", c.peer, c.want, c.lines)
	}
}

func TestClient_prefixes(t *testing.T) {
	r := mustNew(t, Options{},
		one{name: "ip"},
		one{name: "ip48", Identity: Identity{IPv6Prefix: 48, IPv4Prefix: 24}},
		one{name: "ip128", Identity: Identity{IPv6Prefix: 128, IPv4Prefix: 32}},
		one{name: "isp", Identity: Identity{IPv6Prefix: 1, IPv4Prefix: 1}},
	)
	for _, c := range []struct {
		peer, address string
		subjects      []string
	}{
		{"[2001:db8:1:2:3:4:5:6]:1", "2001:db8:1:2:3:4:5:6", []string{"ip=2001:db8:1:2::/64", "ip128=2001:db8:1:2:3:4:5:6", "ip48=2001:db8:1::/48", "isp=::/1"}},
		{"203.0.113.7:1", "203.0.113.7", []string{"ip=203.0.113.7", "ip128=203.0.113.7", "ip48=203.0.113.0/24", "isp=128.0.0.0/1"}},
		{"@", "", nil},
	} {
		want := Found{Subjects: c.subjects}
		if c.address != "" {
			want.Address = netip.MustParseAddr(c.address)
		}
		got, err := r.Read(&http.Request{RemoteAddr: c.peer}, nil)
		if diff := cmp.Diff(want, got, compareAddr); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", c.peer, err, diff)
		}
	}
}

// A peer on a Unix socket, and one whose address cannot be read.
func TestClient_peerWithoutAddress(t *testing.T) {
	for _, c := range []struct {
		name, peer    string // the peer chooses the name of its socket
		unix, trusted bool
		line, want    string
	}{
		{name: "a Unix socket", peer: "@", unix: true, line: "203.0.113.7"},
		{name: "a Unix socket without its local address", peer: "@", line: "203.0.113.7"},
		{name: "a Unix socket named like an address", peer: "203.0.113.7:80", unix: true},
		{name: "a Unix socket named like a trusted proxy", peer: "10.0.0.1", unix: true, line: "203.0.113.7"},
		{name: "no peer", trusted: true, line: "203.0.113.7"},
		{name: "a path", peer: "/run/http.sock", trusted: true, line: "203.0.113.7"},
		{name: "a named port", peer: "1.2.3.4:http", trusted: true, line: "203.0.113.7"},
		{name: "a trusted Unix socket", peer: "@", unix: true, trusted: true, line: "1.1.1.1, 203.0.113.7", want: "203.0.113.7"},
		{name: "a trusted one without its local address", peer: "@", trusted: true, line: "203.0.113.7", want: "203.0.113.7"},
		{name: "a trusted one named like an address", peer: "1.1.1.1:80", unix: true, trusted: true, line: "203.0.113.7", want: "203.0.113.7"},
		{name: "a trusted one without a header", peer: "1.1.1.1:80", unix: true, trusted: true},
		{name: "a trusted one with garbage", peer: "@", unix: true, trusted: true, line: "1.1.1.1, unknown"},
		{name: "behind a proxy", peer: "@", unix: true, trusted: true, line: "203.0.113.7, 10.0.0.1", want: "203.0.113.7"},
		{name: "two Unix sockets, as nginx says", peer: "@", unix: true, trusted: true, line: "203.0.113.7, unix:", want: "203.0.113.7"},
		{name: "a spoofed Unix socket", peer: "@", unix: true, trusted: true, line: "1.1.1.1, unix:, 203.0.113.7", want: "203.0.113.7"},
		{name: "a client on a Unix socket", peer: "@", unix: true, trusted: true, line: "unix:"},
		{name: "an untrusted Unix socket behind a proxy", peer: "10.0.0.1:1", line: "203.0.113.7, unix:", want: "10.0.0.1"},
	} {
		proxies := trusted
		if c.trusted {
			proxies = append(proxies[:len(proxies):len(proxies)], "unix")
		}
		r := mustNew(t, Options{}, one{name: "ip", Identity: Identity{TrustedProxies: proxies}})
		request := &http.Request{RemoteAddr: c.peer, Header: http.Header{}}
		if c.line != "" {
			request.Header.Set("X-Forwarded-For", c.line)
		}
		if c.unix {
			local := &net.UnixAddr{Name: "/run/http.sock", Net: "unix"}
			request = request.WithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, local))
		}
		got, err := r.Read(request, nil)
		want := Found{}
		if c.want != "" {
			want = Found{Subjects: []string{"ip=" + c.want}, Address: netip.MustParseAddr(c.want)}
		}
		if diff := cmp.Diff(want, got, compareAddr); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, diff)
		}
		trusts := c.trusted && (c.unix || c.peer == "@") || c.peer == "10.0.0.1:1"
		if err := r.Forwarded(request); (err == ErrUntrusted) == trusts {
			t.Errorf("%s: Forwarded: %v", c.name, err)
		}
	}
}

// IPv6 forms of one IPv4 client, and similar addresses that stay IPv6.
func TestClient_embeddedIPv4(t *testing.T) {
	r := mustNew(t, Options{}, one{name: "ip", Identity: Identity{TrustedProxies: trusted}})
	for address, subject := range map[string]string{
		"203.0.113.7":                      "203.0.113.7",
		"::ffff:203.0.113.7":               "203.0.113.7",
		"::ffff:cb00:7107":                 "203.0.113.7",
		"64:ff9b::203.0.113.7":             "203.0.113.7",
		"64:ff9b::cb00:7107":               "203.0.113.7",
		"::203.0.113.7":                    "203.0.113.7",
		"::cb00:7107":                      "203.0.113.7",
		"::2":                              "0.0.0.2",
		"::":                               "::/64",
		"::1":                              "::/64",
		"64:ff9b:1::203.0.113.7":           "203.0.113.7", // local-use NAT64, RFC 8215
		"64:ff9b:1:fffe::203.0.113.7":      "203.0.113.7",
		"64:ff9b:1:ffff:ff:ffff:cb00:7107": "203.0.113.7",
		"64:ff9b:1:2:cb:71:700:0":          "64:ff9b:1:2::/64",    // 203.0.113.7 of a prefix of 64 bits
		"64:ff9b:1:cb00:71:700::":          "64:ff9b:1:cb00::/64", // and of 48 bits
		"64:ff9b:2::203.0.113.7":           "64:ff9b:2::/64",
		"64:ff9b::1:cb00:7107":             "64:ff9b::/64",
		"::1:cb00:7107":                    "::/64",
		"2002:cb00:7107::1":                "2002:cb00:7107::/64", // 6to4
		"::ffff:0:203.0.113.7":             "203.0.113.7",         // IPv4-translated, RFC 2765
		"::ffff:1:203.0.113.7":             "::/64",
	} {
		want(t, r, address+" as the peer", "X-Forwarded-For", net.JoinHostPort(address, "1"), subject, nil)
		want(t, r, address+" behind a proxy", "X-Forwarded-For", "10.0.0.1:1", subject, []string{address})
	}
	// An IPv6 form of a proxy's address is a client, whose header does not count.
	want(t, r, "NAT64 of a proxy", "X-Forwarded-For", "[64:ff9b::10.0.0.1]:1", "10.0.0.1", []string{"1.1.1.1"})
	for _, form := range []string{"64:ff9b::", "64:ff9b:1::", "::ffff:0:", "::"} {
		want(t, r, form+" of a proxy as a hop", "X-Forwarded-For", "10.0.0.1:1", "10.0.0.2", []string{"1.1.1.1, " + form + "10.0.0.2"})
	}
}

func want(t *testing.T, r *Reader, name, header, peer, subject string, lines []string) {
	t.Helper()
	got, err := r.Read(&http.Request{RemoteAddr: peer, Header: http.Header{header: lines}}, nil)
	if err != nil || len(got.Subjects) != 1 || got.Subjects[0] != "ip="+subject {
		t.Errorf("%s: want ip=%s, got %+v, %v", name, subject, got, err)
	}
}

// Without trusted proxies, the first request with a forwarded header is logged with what to set, and no further one.
func TestReader_logsIgnoredForwardedHeaders(t *testing.T) {
	for name, c := range map[string]struct {
		trusted []string
		header  string
		want    int
	}{
		"no proxies":                 {nil, "X-Forwarded-For", 1},
		"no proxies, RFC 7239":       {nil, "Forwarded", 1},
		"no proxies, another header": {nil, "X-Request-Id", 0},
		"proxies":                    {[]string{"10.0.0.0/8"}, "X-Forwarded-For", 0},
	} {
		t.Run(name, func(t *testing.T) {
			var text bytes.Buffer
			before := slog.Default()
			slog.SetDefault(slog.New(slog.NewTextHandler(&text, nil)))
			defer slog.SetDefault(before)
			r, err := newReader(Options{}, one{name: "ip", Identity: Identity{TrustedProxies: c.trusted}})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for range 3 {
				request := httptest.NewRequest(http.MethodGet, "/", nil)
				request.Header.Set(c.header, "203.0.113.7")
				if _, err := r.Read(request, nil); err != nil {
					t.Fatal(err)
				}
			}
			if n := strings.Count(text.String(), "trusted_proxies: ["); n != c.want || strings.Contains(text.String(), "203.0.113.7") {
				t.Errorf("%d lines, want %d:\n%s", n, c.want, &text)
			}
		})
	}
}
