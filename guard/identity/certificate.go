package identity

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"slices"
	"strings"
)

// A CertificatePart is a part of a client certificate.
type CertificatePart string

// The parts of a client certificate. If it has several DNS names or URIs, the first is the subject.
const (
	CertificateSHA256     CertificatePart = "sha256"      // SHA-256 of the certificate, 64 hexadecimal digits
	CertificateCommonName CertificatePart = "common_name" // common name of the certificate's subject
	CertificateDNS        CertificatePart = "dns"         // DNS names, in lower case and without a final dot
	CertificateURI        CertificatePart = "uri"         // URIs, such as SPIFFE IDs
)

// certificate returns the values of a part of the client certificate, or nil if the server did not verify it.
func certificate(state *tls.ConnectionState, part CertificatePart) []string {
	if state == nil || len(state.VerifiedChains) == 0 || len(state.VerifiedChains[0]) == 0 {
		return nil
	}
	leaf := state.VerifiedChains[0][0]
	var values []string
	switch part {
	case CertificateSHA256:
		sum := sha256.Sum256(leaf.Raw)
		values = append(values, hex.EncodeToString(sum[:]))
	case CertificateCommonName:
		values = append(values, leaf.Subject.CommonName)
	case CertificateDNS:
		for _, name := range leaf.DNSNames {
			values = append(values, strings.ToLower(strings.TrimSuffix(name, ".")))
		}
	case CertificateURI:
		for _, uri := range leaf.URIs {
			values = append(values, uri.String())
		}
	}
	return slices.DeleteFunc(values, func(value string) bool { return value == "" })
}
