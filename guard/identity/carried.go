package identity

import "net/netip"

var nat64 = netip.MustParsePrefix("64:ff9b::/96") // the well-known prefix of RFC 6052, 2.1

// carried returns the IPv4 address that an IPv6 address carries, or the address itself. NAT64 (64:ff9b::/96), mapped
// (::ffff:a.b.c.d) and compatible (::a.b.c.d, but not :: and ::1) addresses carry one. 6to4 and Teredo addresses do not
// count here: a site has many of them behind one IPv4 address.
//
// This is for the client alone: no such spelling of a trusted proxy is trusted, but the mapped one.
func carried(addr netip.Addr) netip.Addr {
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
