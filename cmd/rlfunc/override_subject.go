package main

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/rlfunc/rlfunc/guard/policy"
)

// overridden returns the subject that an override is for. By a policy, an override that could not be in its file is an error.
func (a *app) overridden(text string, r *rules, o policy.Override) (string, error) {
	subject, err := a.cleared(text, r)
	if err != nil || r.source != fromPolicy {
		return subject, err
	}
	name, _, _ := strings.Cut(subject, "=")
	if _, defined := r.Identities[name]; defined && !r.OfAddress(name) {
		if err := r.check(subject, false); err != nil {
			return "", err
		}
	}
	if err := r.CheckOverride(subject, o); err != nil {
		return "", fmt.Errorf("override of %s: %w", subject, err)
	}
	return subject, nil
}

// cleared returns the subject that a text names, as overrides are kept for it. A bare address is the one that the guard makes of it, a bare
// prefix is of addresses.
func (a *app) cleared(text string, r *rules) (string, error) {
	if text == "" {
		return "", errors.New("a subject must not be empty: give IDENTITY=VALUE, such as key=ab12 or ip=203.0.113.0/24")
	}
	if _, err := netip.ParseAddr(text); err == nil {
		return a.subject(text, r)
	}
	if _, err := netip.ParsePrefix(text); err == nil {
		text = policy.ByIP + "=" + text
	}
	return policy.CanonicalSubject(text), nil
}
