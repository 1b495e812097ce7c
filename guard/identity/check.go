package identity

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

const (
	maxIdentities = 16
	maxName       = 32  // bytes of an identity's name
	maxSourceName = 256 // bytes of the name of a header, cookie, parameter, wildcard or claim
)

// Check returns an error if New refuses the options or an identity. It reads no file and no URL.
func Check(o Options, identities ...Config) error {
	if _, err := o.complete(); err != nil {
		return fmt.Errorf("identity: %w", err)
	}
	_, err := complete(identities)
	return err
}

// complete returns identities with defaults and canonical names, checked.
func complete(identities []Config) ([]Config, error) {
	if len(identities) > maxIdentities {
		return nil, fmt.Errorf("identity: at most %d identities, got %d", maxIdentities, len(identities))
	}
	done := slices.Clone(identities)
	fingerprint := ""
	for i := range done {
		c := &done[i]
		if !isName(c.Name) {
			return nil, fmt.Errorf("identity: name of identity %d must be 1 to %d of the characters a-z 0-9 _ -, got %q", i, maxName, c.Name)
		}
		if slices.ContainsFunc(done[:i], func(other Config) bool { return other.Name == c.Name }) {
			return nil, fmt.Errorf("identity %s: duplicate name", c.Name)
		}
		if err := c.complete(); err != nil {
			return nil, fmt.Errorf("identity %s: %w", c.Name, err)
		}
		if c.Fingerprint != "" {
			if fingerprint != "" {
				return nil, fmt.Errorf("identity %s: only one identity can be a fingerprint, and %s is one", c.Name, fingerprint)
			}
			fingerprint = c.Name
		}
	}
	return done, nil
}

func (c *Config) complete() error {
	if err := c.checkSource(); err != nil {
		return err
	}
	if c.Verify != nil && c.Header == "" && c.Cookie == "" && c.Query == "" && c.Fingerprint == "" {
		return errors.New("invalid Verify: it is for Header, Cookie, Query and Fingerprint")
	}
	if !c.Address && (c.IPv4Prefix != 0 || c.IPv6Prefix != 0) {
		return errors.New("invalid IPv4Prefix or IPv6Prefix: they are for Address")
	}
	if err := prefix(&c.IPv4Prefix, "IPv4Prefix", 32, 32); err != nil {
		return err
	}
	if err := prefix(&c.IPv6Prefix, "IPv6Prefix", 64, 128); err != nil {
		return err
	}
	if err := c.completeNames(); err != nil {
		return err
	}
	switch c.Certificate {
	case "", CertificateSHA256, CertificateCommonName, CertificateDNS, CertificateURI:
	default:
		return fmt.Errorf("invalid Certificate %q: use sha256, common_name, dns or uri", c.Certificate)
	}
	if c.JWT != nil {
		token := *c.JWT
		c.JWT = &token
		return token.complete()
	}
	return nil
}

func (c *Config) checkSource() error {
	var sources []string
	for _, source := range []struct {
		name string
		set  bool
	}{
		{"Address", c.Address},
		{"Header", c.Header != ""},
		{"Cookie", c.Cookie != ""},
		{"Query", c.Query != ""},
		{"Path", c.Path != ""},
		{"Fingerprint", c.Fingerprint != ""},
		{"JWT", c.JWT != nil},
		{"Certificate", c.Certificate != ""},
		{"Func", c.Func != nil},
	} {
		if source.set {
			sources = append(sources, source.name)
		}
	}
	switch len(sources) {
	case 0:
		return errors.New("no source: set one of Address, Header, Cookie, Query, Path, Fingerprint, JWT, Certificate and Func")
	case 1:
		return nil
	}
	return fmt.Errorf("exactly one source is allowed, got %s", strings.Join(sources, " and "))
}

func (c *Config) completeNames() error {
	if err := header(&c.Header, "Header"); err != nil {
		return err
	}
	if err := header(&c.Fingerprint, "Fingerprint"); err != nil {
		return err
	}
	if c.Verify == nil && (c.Header == "Authorization" || c.Header == "Proxy-Authorization") {
		return fmt.Errorf("invalid Header %s: it holds a secret; use JWT, or set Verify", c.Header)
	}
	if err := cookie(c.Cookie, "Cookie"); err != nil {
		return err
	}
	for _, source := range []struct{ field, name string }{{"Query", c.Query}, {"Path", c.Path}} {
		if len(source.name) > maxSourceName || !readable(source.name) {
			return fmt.Errorf("%s: a name has at most %d printable bytes, got %.40q", source.field, maxSourceName, source.name)
		}
	}
	return nil
}

// header checks the name of a header and makes it canonical.
func header(name *string, field string) error {
	if *name == "" {
		return nil
	}
	if len(*name) > maxSourceName || !isToken(*name) {
		return fmt.Errorf("%s: invalid header name %.40q", field, *name)
	}
	switch *name = http.CanonicalHeaderKey(*name); *name {
	case "Host":
		return fmt.Errorf("%s: the host is not a header here: match it in an endpoint's pattern", field)
	case "Cookie":
		return fmt.Errorf("%s: use Cookie for one of the cookies", field)
	}
	return nil
}

func cookie(name, field string) error {
	if name != "" && (len(name) > maxSourceName || !isToken(name)) {
		return fmt.Errorf("%s: invalid cookie name %.40q", field, name)
	}
	return nil
}

func prefix(bits *int, field string, absent, most int) error {
	if *bits == 0 {
		*bits = absent
	}
	if *bits < 1 || *bits > most {
		return fmt.Errorf("%s must be 1 to %d, got %d", field, most, *bits)
	}
	return nil
}

func isName(name string) bool {
	for i := range len(name) {
		if c := name[i]; c != '_' && c != '-' && (!isAlnum(c) || 'A' <= c && c <= 'Z') {
			return false
		}
	}
	return name != "" && len(name) <= maxName
}
