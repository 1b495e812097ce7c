package engines

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// Certificates are files of an authority and of one certificate of its, for servers on loopback and for clients.
type Certificates struct{ CA, Cert, Key string }

// NewCertificates makes them for the names, and for 127.0.0.1 if there are none. They go with the test.
func NewCertificates(t testing.TB, names ...string) Certificates {
	t.Helper()
	dir := folder(t)
	c := Certificates{CA: filepath.Join(dir, "ca.pem"), Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("engines: certificates: %v", err)
		}
	}
	write := func(file, kind string, der []byte) {
		t.Helper()
		must(os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	now := time.Now()
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "rlfunc test authority"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	must(err)
	write(c.CA, "CERTIFICATE", caDER)

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "rlfunc test"}, NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		DNSNames: names, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if len(names) == 0 {
		leaf.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, caKey)
	must(err)
	write(c.Cert, "CERTIFICATE", leafDER)
	keyDER, err := x509.MarshalECPrivateKey(key)
	must(err)
	write(c.Key, "EC PRIVATE KEY", keyDER)
	return c
}

// TLS returns the program for servers, replicas and sentinels that speak TLS with the certificates, and want one of each client.
func (p Program) TLS(t testing.TB, c Certificates) Program {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	if err != nil {
		t.Fatalf("engines: certificates: %v", err)
	}
	// It is the client's own view that a test is about; here is only waited for servers.
	p.tls = &tls.Config{Certificates: []tls.Certificate{pair}, InsecureSkipVerify: true}
	p.args = append(slices.Clone(p.args),
		"--port", "0", "--tls-cert-file", c.Cert, "--tls-key-file", c.Key, "--tls-ca-cert-file", c.CA, "--tls-replication", "yes", "--tls-cluster", "yes")
	return p
}

// Query is the options of a URL that uses the certificates.
func (c Certificates) Query() string {
	return "?tls_ca=" + c.CA + "&tls_cert=" + c.Cert + "&tls_key=" + c.Key
}
