package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/guard/policy"
)

// rules are what a command knows of a guarded service.
type rules struct {
	*policy.Policy // complete; without limits and identities where it is not known
	source         rulesSource
}

type rulesSource int

const (
	fromNothing   rulesSource = iota // neither a policy nor a namespace was given
	fromNamespace                    // the namespace alone was given
	fromPolicy
)

// withPolicy adds the flags that name a guarded service.
func (a *app) withPolicy(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&a.policy, "policy", "", "the policy's file (default policy.yaml or limits.yaml in the folder, if there)")
	cmd.Flags().StringVar(&a.namespace, "namespace", "", "the policy's namespace, where its file is not at hand (default the policy's)")
	return a.withRedis(cmd)
}

// rules reads the policy that --policy names. Without one, only what does not need limits and identities is known.
func (a *app) rules() (*rules, error) {
	name := a.policy
	if name == "" && a.namespace != "" {
		p, err := (&policy.Policy{Namespace: a.namespace}).Complete()
		if err != nil {
			return nil, fmt.Errorf("--%w", err)
		}
		return &rules{p, fromNamespace}, nil
	}
	if name == "" {
		if name = a.policyInFolder(); name == "" {
			p, err := (&policy.Policy{}).Complete()
			return &rules{p, fromNothing}, err
		}
		a.talk("by the policy in %s", name)
	}
	p, err := policy.Load(name)
	if err != nil {
		return nil, err
	}
	if p, err = p.Complete(); err != nil {
		return nil, err
	}
	if a.namespace != "" && a.namespace != p.Namespace {
		return nil, fmt.Errorf("--namespace %s is not that of %s, which is %s: give one of them", a.namespace, name, p.Namespace)
	}
	return &rules{p, fromPolicy}, nil
}

// toRead is rules for a command that changes nothing.
func (a *app) toRead() (*rules, error) {
	r, err := a.rules()
	if err == nil && r.source == fromNothing {
		a.talk("no policy: namespace guard, and limits are not known; give --policy FILE")
	}
	return r, err
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
