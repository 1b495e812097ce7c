package identity

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
		{"DNS names", verified, CertificateDNS, Found{Subjects: []string{"peer=chat.example"}, Also: []string{"peer=other.example"}}},
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
		got, err := mustNew(t, Options{}, Config{Name: "peer", Certificate: c.part}).Read(req, nil)
		if diff := cmp.Diff(c.want, got, withoutAddr); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, diff)
		}
	}
}
