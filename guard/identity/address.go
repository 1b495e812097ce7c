package identity

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
)

// proxies are the trusted peers and their forwarded header.
type proxies struct {
	trusted []netip.Prefix
	unix    bool // peers on Unix sockets are trusted
	header  string
	unused  sync.Once
}

// set trusts the proxies of the identity of the address.
func (p *proxies) set(ip Identity) (err error) {
	p.header = http.CanonicalHeaderKey(cmp.Or(ip.ForwardedHeader, defaultForwarded))
	p.trusted, p.unix, err = ParseProxies(ip.TrustedProxies)
	return err
}

// ParseProxies reads the addresses, prefixes and "unix" of trusted_proxies. A list with unix has the peers of Unix sockets. It returns an error
// for a prefix of every address, with which each client could choose its own.
func ParseProxies(texts []string) (prefixes []netip.Prefix, unix bool, err error) {
	for _, text := range texts {
		if text == "unix" {
			unix = true
			continue
		}
		prefix, err := ParsePrefix(text)
		switch {
		case err != nil:
			return nil, false, fmt.Errorf("%w, or unix", err)
		case prefix.Bits() == 0:
			return nil, false, errors.New("must not trust every peer, because each client could then choose its address: list the networks of your proxies")
		}
		prefixes = append(prefixes, prefix)
	}
	return prefixes, unix, nil
}

// ParsePrefix reads an address or a prefix without host bits. It converts IPv4 in IPv6 to IPv4.
func ParsePrefix(s string) (netip.Prefix, error) {
	if !strings.Contains(s, "/") {
		addr, err := netip.ParseAddr(s)
		if err != nil || addr.Zone() != "" {
			return netip.Prefix{}, errPrefix
		}
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return netip.Prefix{}, errPrefix
	}
	if p.Masked() != p {
		return netip.Prefix{}, fmt.Errorf("must have no host bits set, as in %s", p.Masked())
	}
	if p.Addr().Is4In6() {
		if p.Bits() < 96 {
			return netip.Prefix{}, errPrefix
		}
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p, nil
}

var errPrefix = errors.New("must be an address or a prefix such as 10.0.0.0/8")

// client returns the client's address: the peer's, or behind a trusted proxy the last hop of the header that is not a trusted
// proxy. An invalid hop ends the search at the proxy that added it. The zero Addr means a client without an address: one on a Unix
// socket.
func (p *proxies) client(r *http.Request) netip.Addr {
	if len(p.trusted) == 0 && !p.unix && (r.Header["X-Forwarded-For"] != nil || r.Header["Forwarded"] != nil) {
		p.unused.Do(func() {
			slog.Warn("guard: a request has X-Forwarded-For or Forwarded, which is ignored: without trusted_proxies all clients behind a proxy count as one; " +
				"if a proxy is in front of this service, set its addresses in the policy: identities: {ip: {trusted_proxies: [10.0.0.0/8]}}, or unix for a proxy on a Unix socket")
		})
	}
	addr, unix := peer(r)
	if lines := r.Header[p.header]; len(lines) > 0 && p.trusts(addr, unix) {
		addr = p.behind(addr, lines)
	}
	return embeddedIPv4(addr)
}

// peer returns the address of the peer, or that it is on a Unix socket. The name of its socket is not read, because the peer chooses that:
// it could be 203.0.113.7.
func peer(r *http.Request) (addr netip.Addr, unix bool) {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local != nil && local.Network() == "unix" || r.RemoteAddr == "@" {
		return netip.Addr{}, true
	}
	addr, _ = parseHop(r.RemoteAddr)
	return addr, false
}

// maxHops is how many trusted proxies a request passes at most; a longer chain is a client's own text.
const maxHops = 32

// behind walks from a trusted proxy towards the client, over all lines of the header from the last to the first.
func (p *proxies) behind(proxy netip.Addr, lines []string) netip.Addr {
	passed := 0
	for i := len(lines) - 1; i >= 0; i-- {
		for rest := lines[i]; rest != ""; {
			comma := strings.LastIndexByte(rest, ',')
			hop := strings.Trim(rest[comma+1:], " \t")
			if rest = rest[:max(comma, 0)]; hop == "" {
				continue // empty elements do not count (RFC 9110, 5.6.1)
			}
			addr, good := parseHop(hop)
			unix := p.unix && hop == "unix:" // nginx's name of a peer on a Unix socket
			if !good && !unix {
				return proxy
			}
			if passed++; passed > maxHops {
				return proxy
			}
			if proxy = addr; !p.trusts(addr, unix) {
				return addr
			}
		}
	}
	return proxy
}

func (p *proxies) trusts(addr netip.Addr, unix bool) bool {
	if unix {
		return p.unix
	}
	for _, trusted := range p.trusted {
		if trusted.Contains(addr) {
			return true
		}
	}
	return false
}

// appendAddress appends an address, or its prefix if that is shorter: 203.0.113.7, 2001:db8::/64.
func appendAddress(to []byte, addr netip.Addr, bits int) []byte {
	if bits == addr.BitLen() {
		return addr.AppendTo(to)
	}
	return netip.PrefixFrom(addr, bits).Masked().AppendTo(to)
}

// Bits returns how many bits of an address make a subject of the identity.
func (id *Identity) Bits(addr netip.Addr) int {
	if addr.Is4() {
		return cmp.Or(id.IPv4Prefix, defaultIPv4Prefix)
	}
	return cmp.Or(id.IPv6Prefix, defaultIPv6Prefix)
}

// AddressValue returns the text of an address in a subject of the identity: the address, or its prefix of some bits. The text itself is accepted as
// well, and an address with a port. It reports false for anything else.
func (id *Identity) AddressValue(text string) (string, bool) {
	addr, ok := parseHop(text)
	if !ok {
		prefix, err := netip.ParsePrefix(text)
		if err != nil || prefix.Bits() != id.Bits(prefix.Addr()) || prefix.Addr().Is4In6() {
			return "", false
		}
		addr = prefix.Addr()
	}
	addr = embeddedIPv4(addr)
	return string(appendAddress(nil, addr, id.Bits(addr))), true
}

// parseHop reads an address with or without a port: 192.0.2.1, 192.0.2.1:80, ::1, [::1], [::1]:443. It drops the zone and
// converts IPv4-mapped IPv6 to IPv4.
func parseHop(text string) (netip.Addr, bool) {
	const maxHop = 128 // more than an address with a zone and a port
	if text == "" || len(text) > maxHop {
		return netip.Addr{}, false
	}
	bracketed := text[0] == '['
	if bracketed {
		end := strings.IndexByte(text, ']')
		if end < 0 || !isPort(text[end+1:]) {
			return netip.Addr{}, false
		}
		text = text[1:end]
	} else if colon := strings.IndexByte(text, ':'); colon >= 0 && colon == strings.LastIndexByte(text, ':') {
		if !isPort(text[colon:]) {
			return netip.Addr{}, false
		}
		text = text[:colon]
	}
	addr, err := netip.ParseAddr(text)
	if err != nil || bracketed && addr.Is4() {
		return netip.Addr{}, false
	}
	return addr.WithZone("").Unmap(), true
}

// isPort accepts "", or a colon and one to five digits.
func isPort(text string) bool {
	if text == "" {
		return true
	}
	if text[0] != ':' || len(text) < 2 || len(text) > 6 {
		return false
	}
	for i := 1; i < len(text); i++ {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return true
}

var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96")    // the well-known prefix of RFC 6052, 2.1
	localNAT64 = netip.MustParsePrefix("64:ff9b:1::/48")  // of which networks choose their own, RFC 8215
	translated = netip.MustParsePrefix("::ffff:0:0:0/96") // of SIIT, RFC 2765, 2.1
)

// embeddedIPv4 returns the IPv4 address in a NAT64 (64:ff9b::/96, and any /96 of 64:ff9b:1::/48), translated (::ffff:0:a.b.c.d), IPv4-mapped
// (::ffff:a.b.c.d) or IPv4-compatible (::a.b.c.d but not :: and ::1) address, and any other address itself. It ignores 6to4 and Teredo, where
// one IPv4 address stands for many clients.
//
// In 64:ff9b:1::/48, an address that ends with 24 zero bits has its IPv4 address elsewhere (RFC 6052, 2.2), and stays IPv6: where depends on a
// length that only the network knows.
//
// Use it for clients only. Of the forms of a trusted proxy's address, only the IPv4-mapped one is trusted.
func embeddedIPv4(addr netip.Addr) netip.Addr {
	addr = addr.Unmap()
	if addr.Is4() {
		return addr
	}
	bytes := addr.As16()
	last := [4]byte(bytes[12:])
	if nat64.Contains(addr) || translated.Contains(addr) || localNAT64.Contains(addr) && [3]byte(last[1:]) != [3]byte{} ||
		[12]byte(bytes[:]) == [12]byte{} && last != [4]byte{} && last != [4]byte{3: 1} {
		return netip.AddrFrom4(last)
	}
	return addr
}
