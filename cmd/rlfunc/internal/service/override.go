package service

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/rlfunc/rlfunc/guard/policy"
)

// OverrideSubject returns the subject of a new override. With a policy it returns an error for an override that the policy's file could
// not have.
func (s *Service) OverrideSubject(text string, o policy.Override) (string, error) {
	subject, err := s.StoredOverrideSubject(text)
	if err != nil || s.Source != FromPolicy {
		return subject, err
	}
	name, _, _ := strings.Cut(subject, "=")
	if _, defined := s.Identities[name]; defined && !s.OfAddress(name) {
		if err := s.check(subject, false); err != nil {
			return "", err
		}
	}
	if err := s.CheckOverride(subject, o); err != nil {
		return "", fmt.Errorf("override of %s: %w", subject, err)
	}
	return subject, nil
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
	return policy.CanonicalSubject(text), nil
}
