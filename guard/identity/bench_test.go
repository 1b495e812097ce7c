package identity

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/rlfunc/rlfunc/internal/onpath"
)

// reads are frequent requests; allocs is the most allocations of one Read.
func reads(t testing.TB) []struct {
	name   string
	reader *Reader
	r      *http.Request
	allocs float64
} {
	keys := filepath.Join(t.TempDir(), "keys.txt")
	write(t, keys, digest("internal"), 0)
	d, err := NewDigests(keys)
	if err != nil {
		t.Fatal(err)
	}
	h := mustHMAC(t, start, oldKey, newKey)
	ip := one{name: "ip"}
	jwks := tokenReader(t)
	v6 := request("X-Device", "ab12", "X-API-Key", "internal", "X-Fingerprint", mustSign(t, h, "c1", "ab12"))
	v6.RemoteAddr = "[2001:db8:1:2:3:4:5:6]:443"
	behind := request("X-Forwarded-For", "1.1.1.1, 203.0.113.7, 10.0.0.2")
	behind.RemoteAddr = "10.0.0.1:1"
	return []struct {
		name   string
		reader *Reader
		r      *http.Request
		allocs float64
	}{
		{"ip", mustNew(t, Options{}, ip), v6, 2},
		{"ip and header", mustNew(t, Options{}, ip, one{name: "device", Identity: Identity{Header: "X-Device"}}), v6, 2},
		{"a folded header", mustNew(t, Options{}, one{name: "user", Identity: Identity{Header: "X-User", Fold: FoldCase}}), request("X-User", "Ada@Example.com"), 3},
		{"three prefixes", mustNew(t, Options{}, ip, one{name: "site", Identity: Identity{IPv6Prefix: 48}}, one{name: "isp", Identity: Identity{IPv6Prefix: 32}}), v6, 2},
		{"ip behind proxies", mustNew(t, Options{}, one{name: "ip", Identity: Identity{TrustedProxies: trusted}}), behind, 2},
		{"ip and key", mustNew(t, Options{}, ip, one{name: "key", Identity: Identity{Header: "X-API-Key"}, verify: d}), v6, 5},
		{"ip and fingerprint", mustNew(t, Options{}, ip, one{name: "device", Identity: Identity{Fingerprint: "X-Fingerprint"}, verify: h}), v6, 14},
		{"user and tenant of a token", jwks, request("Authorization", "Bearer "+sign(t, rsaKey, "r1", valid())), 6},
		{"a token that does not verify", jwks, request("Authorization", "Bearer "+sign(t, otherKey, "r1", valid())), 80},
		{"no token", jwks, v6, 1},
	}
}

func TestRead_allocations(t *testing.T) {
	if onpath.Raced() {
		t.Skip("measured without the race detector only")
	}
	for _, c := range reads(t) {
		if got := testing.AllocsPerRun(100, func() { _, _ = c.reader.Read(c.r, nil) }); got > c.allocs {
			t.Errorf("%s: %v allocations, want at most %v", c.name, got, c.allocs)
		}
	}
}
