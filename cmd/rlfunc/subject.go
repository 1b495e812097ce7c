package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/diag"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// subject returns the subject that a text names: a bare address is the subject that the guard makes of it. By a policy, a subject that
// no request has is an error.
func (a *app) subject(text string, r *rules) (string, error) {
	if text == "" {
		return "", errors.New("a subject must not be empty: ip=203.0.113.7, key=ab12, user=42")
	}
	if addr, err := netip.ParseAddr(text); err == nil {
		subject := ofAddress(policy.ByIP, r.Identities[policy.ByIP], addr)
		a.talk("%s is %s for the guard", text, subject)
		return subject, nil
	}
	if r.source != fromPolicy {
		return text, nil
	}
	parts := strings.Split(text, "+")
	for _, part := range parts {
		if err := r.check(part, len(parts) > 1); err != nil {
			return "", err
		}
	}
	return text, nil
}

// check returns an error if no request has a subject of one identity; the error says what would match.
func (r *rules) check(subject string, combined bool) error {
	name, value, named := strings.Cut(subject, "=")
	if !named || value == "" {
		if combined {
			return fmt.Errorf("%q is not IDENTITY=VALUE: a + joins identities, and a + in a value is written %%2B", subject)
		}
		return fmt.Errorf("%q is not a subject: give IDENTITY=VALUE (identities: %s)", subject, strings.Join(r.identities(), ", "))
	}
	id, defined := r.Identities[name]
	switch {
	case !defined:
		return fmt.Errorf("the policy has no identity %q%s (identities: %s)", name, diag.DidYouMean(name, r.identities()), strings.Join(r.identities(), ", "))
	case len(id.First) > 0:
		return fmt.Errorf("%s has no values of its own, it is the first of %s that a request has: give the subject of one of these", name, strings.Join(id.First, ", "))
	case r.OfAddress(name):
		return checkAddress(name, id, value)
	case id.Certificate == policy.CertificateSHA256 && !isDigest(strings.ReplaceAll(value, ":", "")):
		return fmt.Errorf("no request has the subject %s: it is the SHA-256 of a certificate, 64 hexadecimal digits", subject)
	}
	if want := r.wanted(&id, value); want != value {
		return never(subject, name+"="+want)
	}
	return nil
}

// identities are the names of those that have values of their own, sorted.
func (r *rules) identities() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(r.Identities)), func(name string) bool { return len(r.Identities[name].First) > 0 })
}

func never(subject, want string) error {
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
			return fmt.Errorf("no request has the subject %s: one of %s is a /%d. To refuse a whole network: rlfunc override set %s --deny", subject, name, bits, subject)
		}
	}
	if want := ofAddress(name, id, addr); want != subject {
		return never(subject, want)
	}
	return nil
}

// ofAddress returns the subject that the guard makes of an address.
func ofAddress(name string, id policy.Identity, addr netip.Addr) string {
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

// wanted returns the value that the guard makes of a value; the same where it is one already.
func (r *rules) wanted(id *policy.Identity, value string) string {
	if id.Verify != nil && id.Verify.SHA256File != "" {
		if name, ok := nameOfKey(id.Verify.SHA256File, value); ok {
			return name // it is a key, and the subject is its name
		}
	}
	switch id.Certificate {
	case policy.CertificateDNS:
		value = strings.ToLower(strings.TrimSuffix(value, "."))
	case policy.CertificateSHA256:
		value = strings.ToLower(strings.ReplaceAll(value, ":", ""))
	}
	if !identity.IsValue(value) {
		return identity.Value(value)
	}
	return value
}

func isDigest(text string) bool {
	digest, err := hex.DecodeString(text)
	return err == nil && len(digest) == sha256.Size
}

// nameOfKey returns the value of an API key, where the file of digests can be read and has it.
func nameOfKey(file, key string) (string, bool) {
	digests, err := identity.NewDigests(file)
	if err != nil {
		return "", false
	}
	name, err := digests.Verify(context.Background(), key)
	return identity.Value(name), err == nil
}
