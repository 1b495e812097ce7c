package identity

import (
	"net/http"
	"testing"
)

func BenchmarkIdentify(b *testing.B) {
	id := mustNew(b, Config{From: []Source{Fingerprint, APIKey, IP}, TrustedProxies: proxies})
	behind := request("X-Forwarded-For", "1.1.1.1, 203.0.113.7, 10.0.0.2")
	behind.RemoteAddr = "10.0.0.1:1"
	v6 := request()
	v6.RemoteAddr = "[2001:db8:1:2:3:4:5:6]:443"
	for _, c := range []struct {
		name string
		r    *http.Request
	}{
		{"fingerprint", request("X-Fingerprint", "fp:c1:ab12")}, {"api_key", request("X-API-Key", "internal")}, {"ip", v6}, {"proxies", behind},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := id.Identify(c.r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
