// Package dyncall calls a function by its contract: arguments by name and unit, results by their header names.
package dyncall

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

// values are a call's arguments by name: "limit", or "limits.0.limit" in a group.
type values map[string]string

// Problems are all errors in a command line's arguments, one line each.
type Problems []string

func (p Problems) Error() string { return strings.Join(p, "\n") }

// split reads name=value words, and reports unknown and repeated names.
func split(fn *spec.Function, words []string) (values, map[string]int, Problems) {
	out := values{}
	rows := map[string]int{} // number of rows by group
	var bad Problems
	known := ArgumentNames(fn)
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if !ok {
			bad = append(bad, fmt.Sprintf("%q is not name=value", w))
			continue
		}
		group, index, shape := groupName(name)
		if !slices.Contains(known, shape) {
			bad = append(bad, fmt.Sprintf("unknown argument %q%s (arguments: %s)", name, didYouMean(shape, known), strings.Join(known, ", ")))
			continue
		}
		if _, twice := out[name]; twice {
			bad = append(bad, fmt.Sprintf("%s is given twice", name))
			continue
		}
		out[name] = value
		if group != "" {
			rows[group] = max(rows[group], index+1)
		}
	}
	return out, rows, bad
}

// didYouMean ends a message about an unknown argument. A name alone is near the rows of a like name.
func didYouMean(shape string, known []string) string {
	if suggestion := spelling.DidYouMean(shape, known); suggestion != "" {
		return suggestion
	}
	for _, k := range known {
		if name, _, many := strings.Cut(k, ".N"); many && spelling.Nearest(shape, []string{name}) != "" {
			return "; did you mean " + k + "?"
		}
	}
	return ""
}

// groupName splits limits.0.limit into its parts and its shape in the header, limits.N.limit.
func groupName(name string) (group string, index int, shape string) {
	parts := strings.Split(name, ".")
	if len(parts) != 3 {
		return "", 0, name
	}
	n, err := strconv.Atoi(parts[1])
	if err != nil || n < 0 || n > 10_000 || strconv.Itoa(n) != parts[1] {
		return "", 0, name
	}
	group = parts[0]
	parts[1] = "N"
	return group, n, strings.Join(parts, ".")
}

// An argument is what a word gives. In its shape, N stands for a group's row.
type argument struct {
	shape, doc string
	needed     bool
}

// The arguments of one parameter of the header are those of each of its rows, if it has rows.
type parameter struct {
	group spec.Field
	names []argument
}

// arguments lists what words can give, in the order of the header.
func arguments(fn *spec.Function) []parameter {
	doc := cmp.Or(fn.Subject, "the user, address or other name that the call is about")
	out := []parameter{{names: []argument{{spec.Subject, doc, true}}}}
	owners := map[string]bool{}
	for _, p := range fn.Params {
		of := parameter{group: p}
		add := func(shape, doc string, needed bool) { of.names = append(of.names, argument{shape, doc, needed}) }
		switch p.Kind {
		case spec.KindKey:
			switch own := p.With + "." + ownSubject; {
			case p.Several:
				add(p.Name+".N."+ownSubject, p.Doc, true)
			case p.Own && !owners[own]:
				owners[own] = true
				add(own, p.Doc, false)
			}
		case spec.KindGroup:
			for _, f := range p.Fields {
				if f.Kind != spec.KindKey {
					add(p.Name+".N."+f.Name, f.Doc, required(f))
				}
			}
			if len(p.Keys()) > 0 {
				add(p.Name+".N."+ownSubject, p.Doc, false)
			}
		default:
			add(p.Name, p.Doc, required(p))
		}
		out = append(out, of)
	}
	return out
}

func required(f spec.Field) bool { return !f.Optional && f.Kind != spec.KindBool }

// ArgumentNames lists the names of a call's arguments; N stands for a group's row.
func ArgumentNames(fn *spec.Function) (names []string) {
	for _, p := range arguments(fn) {
		for _, arg := range p.names {
			names = append(names, arg.shape)
		}
	}
	return names
}

// ownSubject names a subject other than the call's: limits.1.of for a group's row, budgets.of for an argument's keys, blocks.0.of
// for one of several keys.
const ownSubject = "of"

// number reads an integer argument in its unit.
func number(f spec.Field, text string) (int64, error) {
	switch f.Kind {
	case spec.KindDuration:
		d, err := policy.ParseDuration(text)
		if err != nil {
			return 0, fmt.Errorf("%w, got %q", err, text)
		}
		return fcall.ArgDuration(d), nil
	case spec.KindTime:
		t, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return 0, fmt.Errorf("must be a time such as 2026-01-31T12:00:00Z, got %q", text)
		}
		return t.UnixMicro(), nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		unit := "a whole number"
		if f.Kind == spec.KindMicros {
			unit = "a whole number of micros, such as 1500000 for 1.50"
		}
		return 0, fmt.Errorf("must be %s, got %q", unit, text)
	}
	return n, nil
}

func boolean(text string) (bool, error) {
	switch text {
	case "true", "yes", "1":
		return true, nil
	case "false", "no", "0":
		return false, nil
	}
	return false, fmt.Errorf("must be true or false, got %q", text)
}
