package identity

import (
	"net/http"
	"net/netip"
	"strings"
)

// client names the client by its address: the peer's, or where that is a trusted proxy, the last hop of the header that is
// none. A hop that can not be read ends the search at the proxy that added it.
func (id *Identifier) client(r *http.Request) (Identity, error) {
	addr, ok := parseHop(r.RemoteAddr)
	if !ok {
		return Identity{}, ErrNone // a peer without an address, on a Unix socket
	}
	if lines := r.Header[id.config.IPHeader]; len(lines) > 0 && id.trusts(addr) {
		addr = id.behind(addr, lines)
	}
	return Identity{Subject: id.subject(addr)}, nil
}

// behind walks from a trusted proxy towards the client, over all lines of the header from the last to the first.
func (id *Identifier) behind(proxy netip.Addr, lines []string) netip.Addr {
	for i := len(lines) - 1; i >= 0; i-- {
		hops := hops{rest: lines[i], forwarded: id.forwarded}
		for hop, ok := hops.last(); ok; hop, ok = hops.last() {
			addr, good := parseHop(hop)
			if !good {
				return proxy
			}
			if proxy = addr; !id.trusts(addr) {
				return addr
			}
		}
		if hops.garbled {
			return proxy
		}
	}
	return proxy
}

func (id *Identifier) trusts(addr netip.Addr) bool {
	for _, p := range id.config.TrustedProxies {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// subject is ip= and the address, or the prefix that an IPv6 client shares with its neighbours.
func (id *Identifier) subject(addr netip.Addr) string {
	text := append(make([]byte, 0, 64), "ip="...)
	if addr.Is4() || id.config.IPv6Prefix == 128 {
		return string(addr.AppendTo(text))
	}
	return string(netip.PrefixFrom(addr, id.config.IPv6Prefix).Masked().AppendTo(text))
}

// parseHop reads an address with or without a port: 192.0.2.1, 192.0.2.1:80, ::1, [::1], [::1]:443. A zone is dropped,
// and IPv4 inside IPv6 is IPv4.
func parseHop(text string) (netip.Addr, bool) {
	const longest = 128 // an address with a zone and a port, generously
	if text == "" || len(text) > longest {
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

// isPort takes nothing, or a colon and up to five digits.
func isPort(text string) bool {
	if text == "" {
		return true
	}
	if text[0] != ':' || len(text) < 2 || len(text) > 6 {
		return false
	}
	return strings.Trim(text[1:], "0123456789") == ""
}
