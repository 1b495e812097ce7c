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
	"strings"

	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/guard/inspect"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/agreed"
)

// A Service is what a command knows of a guarded service.
type Service struct {
	*policy.Policy        // complete; without limits and identities if File is ""
	File           string // of the policy; "" if the operator gave none
	Given          bool   // whether the operator gave a policy or a namespace
}

// Load reads the policy in file. Without a file, only what needs no limits and identities is known.
func Load(file, namespace string) (*Service, error) {
	if file == "" {
		p, err := (&policy.Policy{Namespace: namespace}).Complete()
		if err != nil {
			return nil, fmt.Errorf("--%w", err)
		}
		return &Service{p, "", namespace != ""}, nil
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
	return &Service{p, file, true}, nil
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
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(s.Identities)), func(name string) bool { return len(s.Identities[name].First) > 0 })
	if len(s.Upstreams) > 0 {
		names = append(names, policy.ByAccount)
	}
	return names
}

// Budgets is the name that stands for all budgets among the names of limits.
const Budgets = "budgets"

// LimitNames lists the limits of the policy that count single subjects, and Budgets.
func (s *Service) LimitNames() []string {
	var names []string
	s.eachLimit(func(name string, l policy.Limit) {
		if !l.By.Global() {
			names = append(names, name)
		}
	})
	if slices.ContainsFunc(s.Budgets, func(b policy.Budget) bool { return !b.By.Global() }) {
		names = append(names, Budgets)
	}
	return names
}

func (s *Service) eachLimit(do func(name string, l policy.Limit)) {
	for _, l := range s.Limits {
		do(agreed.LimitName("", l.Name), l)
	}
	for _, e := range s.Endpoints {
		for _, l := range e.Limits {
			do(agreed.LimitName(e.Name, l.Name), l)
		}
	}
}

// LimitsOf returns the limits that count a subject, those with the names or all, and its budgets if these are among them.
func (s *Service) LimitsOf(subject string, names []string) (rows []ratelimit.Limit, budgets []cost.Budget, err error) {
	s = &Service{s.ForSubject(subject), s.File, s.Given}
	if len(s.Endpoints) == 0 && len(s.Limits) == 0 && len(s.Budgets) == 0 {
		return nil, nil, errors.New("the policy has no limits: give --policy FILE with those of the service")
	}
	wanted := func(name string, by policy.By) bool {
		named, counts := slices.Contains(names, name), s.Counts(by, subject)
		if named && !counts {
			err = errors.Join(err, fmt.Errorf("limit %s does not count %s: it is by %s", name, subject, strings.Join(by, " and ")))
		}
		return (named || len(names) == 0) && counts
	}
	s.eachLimit(func(name string, l policy.Limit) {
		if wanted(name, l.By) {
			window, period := inspect.Period(l)
			row := ratelimit.Limit{Name: name, Kind: ratelimit.LimitKind(l.Kind), Limit: l.Limit, Window: window}
			if l.Kind == policy.Quota {
				row.Window, row.Previous, row.Start, row.Next, row.After = 0, period.Previous, period.Start, period.Next, period.After
			}
			rows = append(rows, row)
		}
	})
	if len(names) == 0 || slices.Contains(names, Budgets) {
		for i := range s.Budgets {
			if b := &s.Budgets[i]; s.Counts(b.By, subject) {
				row, _ := inspect.RowOf(b)
				budgets = append(budgets, row)
			}
		}
		if len(budgets) == 0 && len(names) > 0 {
			err = errors.Join(err, fmt.Errorf("no budget counts %s", subject))
		}
	}
	known := s.LimitNames()
	for _, name := range names {
		if err == nil && !slices.Contains(known, name) {
			err = fmt.Errorf("the policy has no limit %q (limits: %s)", name, strings.Join(known, ", "))
		}
	}
	if err == nil && len(rows) == 0 && len(budgets) == 0 {
		err = fmt.Errorf("no limit and no budget of the policy counts %s", subject)
	}
	return rows, budgets, err
}
