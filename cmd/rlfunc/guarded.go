package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/guard/policy"
)

// withPolicy adds the flag that names the policy of a guarded service.
func (a *app) withPolicy(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&a.policy, "policy", "", "the policy's file (default policy.yaml or limits.yaml in the folder, if there)")
	return a.withRedis(cmd)
}

// rules is the policy that --policy names, complete. Without any, only what does not need its limits can be told.
func (a *app) rules() (*policy.Policy, error) {
	name := a.policy
	if name == "" {
		if name = a.policyInFolder(); name == "" {
			a.talk("no policy: namespace guard, and limits are not known; give --policy FILE")
			return (&policy.Policy{}).Complete()
		}
		a.talk("by the policy in %s", name)
	}
	p, err := policy.Load(name)
	if err != nil {
		return nil, err
	}
	return p.Complete()
}

// policyInFolder is the policy that is used where no flag names one, or "".
func (a *app) policyInFolder() string {
	for _, name := range []string{"policy.yaml", "limits.yaml"} {
		name = filepath.Join(a.dir, name)
		if _, err := os.Stat(name); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return name
		}
	}
	return ""
}

// subject is whom the text names, as the guard does. A bare address is told to be one.
func (a *app) subject(text string, p *policy.Policy) (string, error) {
	if text == "" {
		return "", errors.New("a subject must not be empty: ip=203.0.113.7, key=ab12, fp=cd34")
	}
	addr, err := netip.ParseAddr(text)
	if err != nil {
		if rest, ok := strings.CutPrefix(text, "ip="); ok {
			return a.address(rest, text, p)
		}
		return text, nil
	}
	return a.named6(addr, text, p), nil
}

// address takes an IPv6 address for the client that it is a part of.
func (a *app) address(rest, text string, p *policy.Policy) (string, error) {
	addr, err := netip.ParseAddr(rest)
	if err != nil {
		return text, nil // a prefix, or text of the service's own
	}
	return a.named6(addr, text, p), nil
}

func (a *app) named6(addr netip.Addr, text string, p *policy.Policy) string {
	addr = addr.WithZone("").Unmap()
	subject := "ip=" + addr.String()
	if bits := cmp.Or(p.Identity.IP.IPv6Prefix, policy.DefaultIPv6Prefix); addr.Is6() && bits < 128 {
		subject = "ip=" + netip.PrefixFrom(addr, bits).Masked().String()
	}
	if subject != text {
		a.talk("%s is %s for the guard", text, subject)
	}
	return subject
}

// drawable tells whether out is a terminal that shows more than ASCII, and whether it wants colour.
func (a *app) drawable(color bool) (unicode bool) {
	if !color {
		return false
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := os.Getenv(name); value != "" {
			value = strings.ToLower(value)
			return strings.Contains(value, "utf-8") || strings.Contains(value, "utf8")
		}
	}
	return false
}

// fail says what was done when it failed.
func fail(what, subject string, err error) error { return fmt.Errorf("%s %s: %w", what, subject, err) }
