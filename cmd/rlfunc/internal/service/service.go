// Package service knows a guarded service by its policy: its namespace, its limits and its subjects.
package service

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/rlfunc/rlfunc/guard/policy"
)

// A Service is what a command knows of a guarded service.
type Service struct {
	*policy.Policy // complete; without limits and identities unless Source is FromPolicy
	Source         Source
	File           string // of the policy, or ""
}

// A Source is what a Service was made from.
type Source int

// The sources.
const (
	FromNothing   Source = iota // the operator gave neither a policy nor a namespace
	FromNamespace               // the operator gave a namespace only
	FromPolicy
)

// Load reads the policy in file. Without a file, only what needs no limits and identities is known.
func Load(file, namespace string) (*Service, error) {
	if file == "" {
		p, err := (&policy.Policy{Namespace: namespace}).Complete()
		if err != nil {
			return nil, fmt.Errorf("--%w", err)
		}
		if namespace == "" {
			return &Service{p, FromNothing, ""}, nil
		}
		return &Service{p, FromNamespace, ""}, nil
	}
	p, err := policy.Load(file)
	if err != nil {
		return nil, err
	}
	if p, err = p.Complete(); err != nil {
		return nil, err
	}
	if namespace != "" && namespace != p.Namespace {
		return nil, fmt.Errorf("--namespace %s differs from the namespace of %s, %s: give one of them", namespace, file, p.Namespace)
	}
	return &Service{p, FromPolicy, file}, nil
}

// PolicyIn returns the file of the policy in a folder, policy.yaml or limits.yaml, or "".
func PolicyIn(dir string) string {
	for _, name := range []string{"policy.yaml", "limits.yaml"} {
		name = filepath.Join(dir, name)
		if _, err := os.Stat(name); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return name
		}
	}
	return ""
}

// IdentityNames lists the identities that have values of their own, sorted.
func (s *Service) IdentityNames() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.Identities)), func(name string) bool { return len(s.Identities[name].First) > 0 })
}
