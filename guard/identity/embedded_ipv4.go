package identity

import "net/netip"

var nat64 = netip.MustParsePrefix("64:ff9b::/96") // the well-known prefix of RFC 6052, 2.1

// embeddedIPv4 returns the IPv4 address in a NAT64 (64:ff9b::/96), IPv4-mapped (::ffff:a.b.c.d) or IPv4-compatible (::a.b.c.d
// but not :: and ::1) address, and any other address itself. It ignores 6to4 and Teredo, where one IPv4 address stands for many
// clients.
//
// Use it for clients only. Of the forms of a trusted proxy's address, only the IPv4-mapped one is trusted.
func embeddedIPv4(addr netip.Addr) netip.Addr {
	addr = addr.Unmap()
	if addr.Is4() {
		return addr
	}
	bytes := addr.As16()
	last := [4]byte(bytes[12:])
	if nat64.Contains(addr) || [12]byte(bytes[:]) == [12]byte{} && last != [4]byte{} && last != [4]byte{3: 1} {
		return netip.AddrFrom4(last)
	}
	return addr
}
