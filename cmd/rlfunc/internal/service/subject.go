package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

// Subject returns the subject that an operator's text names. A bare address becomes the subject that the guard makes of it. With a policy
// it returns an error for a subject that no request has.
func (s *Service) Subject(text string) (string, error) {
	if text == "" {
		return "", errors.New("SUBJECT must not be empty: give IDENTITY=VALUE, such as ip=203.0.113.7 or key=ab12")
	}
	if addr, err := netip.ParseAddr(text); err == nil {
		return addressSubject(policy.ByIP, s.Identities[policy.ByIP], addr), nil
	}
	if s.File == "" {
		return text, nil
	}
	parts := strings.Split(text, "+")
	for i, part := range parts {
		var err error
		if parts[i], err = s.subject(part, len(parts) > 1); err != nil {
			return "", err
		}
	}
	return strings.Join(parts, "+"), nil
}

// subject returns a subject of one identity, folded as in requests. If no request has it, the error names the subject that requests have instead.
func (s *Service) subject(subject string, combined bool) (string, error) {
	name, value, named := strings.Cut(subject, "=")
	if !named || value == "" {
		if combined {
			return "", fmt.Errorf("%q is not IDENTITY=VALUE: a + joins identities; write a + in a value as %%2B", subject)
		}
		return "", fmt.Errorf("%q is not a subject: give IDENTITY=VALUE (identities: %s)", subject, strings.Join(s.IdentityNames(), ", "))
	}
	id, defined := s.Identities[name]
	if _, ok := s.UpstreamOf(subject); ok {
		defined, id.Func = true, true
	}
	switch {
	case !defined:
		return "", fmt.Errorf("the policy has no identity %q%s (identities: %s)", name, spelling.DidYouMean(name, s.IdentityNames()), strings.Join(s.IdentityNames(), ", "))
	case len(id.First) > 0:
		return "", fmt.Errorf("%s has no values of its own: it is the first of %s that a request has; give the subject of one of these", name, strings.Join(id.First, ", "))
	case s.OfAddress(name):
		return subject, checkAddress(name, id, value)
	case id.Certificate == identity.CertificateSHA256 && !isDigest(strings.ReplaceAll(value, ":", "")):
		return "", fmt.Errorf("no request has the subject %s: give the SHA-256 of a certificate, 64 hexadecimal digits", subject)
	}
	want := name + "=" + canonical(&id, value)
	if want != subject && id.Fold == identity.FoldNone {
		return "", noSuchSubject(subject, want)
	}
	return want, nil
}

func noSuchSubject(subject, want string) error {
	return fmt.Errorf("no request has the subject %s: give %s", subject, want)
}

func checkAddress(name string, id policy.Identity, value string) error {
	subject := name + "=" + value
	addr, err := netip.ParseAddr(value)
	if err != nil {
		p, err := netip.ParsePrefix(value)
		if err != nil {
			return fmt.Errorf("no request has the subject %s: %q is not an address", subject, value)
		}
		addr = p.Addr()
		bits := id.IPv6Prefix
		if addr.Is4() {
			bits = id.IPv4Prefix
		}
		if p.Bits() < bits {
			return fmt.Errorf("no request has the subject %s: a subject of %s is a /%d; to refuse a whole network: rlfunc override set %s --deny", subject, name, bits, subject)
		}
	}
	if want := addressSubject(name, id, addr); want != subject {
		return noSuchSubject(subject, want)
	}
	return nil
}

// addressSubject returns the subject that the guard makes of an address.
func addressSubject(name string, id policy.Identity, addr netip.Addr) string {
	reader, err := identity.New(identity.Options{}, identity.Config{Name: name, Address: true, IPv4Prefix: id.IPv4Prefix, IPv6Prefix: id.IPv6Prefix})
	if err != nil {
		return ""
	}
	found, err := reader.Read(&http.Request{RemoteAddr: addr.String()}, nil)
	if err != nil {
		return ""
	}
	return found.Subject(name)
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

// OverrideSubject returns the subject of a new override. With a policy it returns an error for an override that the policy's file could
// not have.
func (s *Service) OverrideSubject(text string, o policy.Override) (string, error) {
	subject, err := s.StoredOverrideSubject(text)
	if err != nil || s.File == "" {
		return subject, err
	}
	name, _, _ := strings.Cut(subject, "=")
	if _, defined := s.Identities[name]; defined && !s.OfAddress(name) {
		if subject, err = s.subject(subject, false); err != nil {
			return "", err
		}
	}
	if err := s.CheckOverride(subject, o); err != nil {
		return "", fmt.Errorf("override of %s: %w", subject, err)
	}
	return subject, nil
}

// TopUpSubject returns the subject of a top-up of a budget, and the budget.
func (s *Service) TopUpSubject(text, budget string) (subject string, b *policy.Budget, err error) {
	if s.File == "" {
		return "", nil, errors.New("--add needs the policy, which has the budget's unit and period: give --policy FILE")
	}
	if subject = text; text != policy.ByAll {
		if subject, err = s.Subject(text); err != nil {
			return "", nil, err
		}
	}
	if b, err = s.BudgetOf(subject, budget); err != nil {
		return "", nil, fmt.Errorf("override of %s: %w", subject, err)
	}
	return subject, b, nil
}

// StoredOverrideSubject returns the subject under which an override is stored. A bare address becomes the subject that the guard makes of
// it, a bare prefix a prefix of addresses.
func (s *Service) StoredOverrideSubject(text string) (string, error) {
	if text == "" {
		return "", errors.New("SUBJECT must not be empty: give IDENTITY=VALUE, such as key=ab12 or ip=203.0.113.0/24")
	}
	if _, err := netip.ParseAddr(text); err == nil {
		return s.Subject(text)
	}
	if _, err := netip.ParsePrefix(text); err == nil {
		text = policy.ByIP + "=" + text
	}
	return s.CanonicalSubject(text), nil
}
