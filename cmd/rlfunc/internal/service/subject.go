package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

// Subject returns the subject that the guard makes of an operator's text. A bare address is the client's. With a policy it returns an error for
// a subject that no request can have.
func (s *Service) Subject(text string) (string, error) {
	if text == "" {
		return "", errors.New("SUBJECT must not be empty: give IDENTITY=VALUE, such as ip=203.0.113.7 or key=ab12")
	}
	if _, err := netip.ParseAddr(text); err == nil {
		return addressSubject(policy.ByIP, s.Identities[policy.ByIP], text)
	}
	if s.File == "" {
		return text, nil
	}
	parts := strings.Split(text, "+")
	for i, part := range parts {
		var err error
		if parts[i], err = s.subject(part); err != nil {
			return "", err
		}
	}
	return strings.Join(parts, "+"), nil
}

// subject returns a subject of one identity as it is in requests.
func (s *Service) subject(text string) (string, error) {
	name, value, _ := strings.Cut(text, "=")
	if value == "" {
		return "", fmt.Errorf("%q is not a subject: give IDENTITY=VALUE (identities: %s); a + joins identities, and is %%2B in a value",
			text, strings.Join(s.IdentityNames(), ", "))
	}
	id, defined := s.Identities[name]
	if _, ok := s.UpstreamOf(text); ok {
		defined, id.Func = true, true
	}
	switch {
	case !defined:
		return "", fmt.Errorf("the policy has no identity %q%s (identities: %s)", name, spelling.DidYouMean(name, s.IdentityNames()), strings.Join(s.IdentityNames(), ", "))
	case len(id.First) > 0:
		return "", fmt.Errorf("%s has no values of its own: it is the first of %s that a request has; give the subject of one of these", name, strings.Join(id.First, ", "))
	case s.OfAddress(name):
		return addressSubject(name, id, value)
	case id.Certificate == identity.CertificateSHA256 && !isDigest(strings.ReplaceAll(value, ":", "")):
		return "", fmt.Errorf("no request has the subject %s: give the SHA-256 of a certificate, 64 hexadecimal digits", text)
	}
	return name + "=" + canonical(&id, value), nil
}

// addressSubject returns the subject that the guard makes of an address, or of a prefix that is not wider than a subject.
func addressSubject(name string, id policy.Identity, value string) (string, error) {
	addr, err := netip.ParseAddr(value)
	if prefix, ok := netip.ParsePrefix(value); ok == nil {
		addr, err = prefix.Addr(), nil
		if bits := id.Bits(addr); prefix.Bits() < bits {
			return "", fmt.Errorf("no request has the subject %[1]s=%[2]s: a subject of %[1]s is a /%[3]d; to refuse a whole network: rlfunc override set %[1]s=%[2]s --deny", name, value, bits)
		}
	}
	if err != nil {
		return "", fmt.Errorf("no request has the subject %s=%s: %q is not an address", name, value, value)
	}
	address, _ := id.AddressValue(addr.String())
	return name + "=" + address, nil
}

// canonical returns the value that the guard makes of value.
func canonical(id *policy.Identity, value string) string {
	if id.Verify != nil && id.Verify.SHA256File != "" {
		if name, ok := nameOfKey(id.Verify.SHA256File, value); ok {
			return id.Fold.Value(name) // the value is an API key, and its name is the subject
		}
	}
	switch id.Certificate {
	case identity.CertificateDNS:
		value = strings.ToLower(strings.TrimSuffix(value, "."))
	case identity.CertificateSHA256:
		value = strings.ToLower(strings.ReplaceAll(value, ":", ""))
	}
	return id.Fold.Canonical(value)
}

func isDigest(text string) bool {
	digest, err := hex.DecodeString(text)
	return err == nil && len(digest) == sha256.Size
}

// nameOfKey returns the name of an API key, if the file of digests can be read and has the key.
func nameOfKey(file, key string) (string, bool) {
	digests, err := identity.NewDigests(file)
	if err != nil {
		return "", false
	}
	name, err := digests.Verify(context.Background(), key)
	return name, err == nil
}

// OverrideSubject returns the subject of an override: as Subject does, or a prefix of addresses.
func (s *Service) OverrideSubject(text string) (string, error) {
	if _, err := netip.ParsePrefix(text); err == nil {
		text = policy.ByIP + "=" + text
	}
	if name, _, _ := strings.Cut(text, "="); s.OfAddress(name) {
		return s.CanonicalSubject(text), nil
	}
	return s.Subject(text)
}
