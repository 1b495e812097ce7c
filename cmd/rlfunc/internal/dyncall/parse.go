// Package dyncall calls a function by its contract: arguments by name and unit, results by their header names.
package dyncall

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/fcall"
)

// values are the arguments of one call by name: "limit", or "limits.0.limit" in a group.
type values map[string]string

// Problems are everything that is wrong with a command line's arguments, one line each.
type Problems []string

func (p Problems) Error() string { return strings.Join(p, "\n") }

// split reads name=value words, and finds names that are not in the header, or stand twice.
func split(fn *spec.Function, words []string) (values, map[string]int, Problems) {
	out := values{}
	rows := map[string]int{} // per group, how many rows are named
	var bad Problems
	known := argumentNames(fn)
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if !ok {
			bad = append(bad, fmt.Sprintf("%q is not name=value", w))
			continue
		}
		group, index, shape := groupName(name)
		if !slices.Contains(known, shape) {
			bad = append(bad, fmt.Sprintf("unknown argument %q%s (arguments: %s)", name, near(shape, known), strings.Join(known, ", ")))
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

// groupName takes limits.0.limit apart, and gives its shape as the header has it: limits.N.limit.
func groupName(name string) (group string, index int, shape string) {
	parts := strings.Split(name, ".")
	if len(parts) != 3 {
		return "", 0, name
	}
	n, err := strconv.Atoi(parts[1])
	if err != nil || n < 0 || n > 10_000 || strconv.Itoa(n) != parts[1] {
		return "", 0, name
	}
	return parts[0], n, parts[0] + ".N." + parts[2]
}

// argumentNames are the names that a call takes; a group's row is written N.
func argumentNames(fn *spec.Function) []string {
	var out []string
	subject := false
	for _, p := range fn.Params {
		switch p.Kind {
		case spec.KindKey:
			switch {
			case p.Several:
				out = append(out, p.Name+".N."+ownSubject)
			case !subject:
				out = append(out, p.Name)
			case p.Own && !slices.Contains(out, p.With+"."+ownSubject):
				out = append(out, p.With+"."+ownSubject)
			}
			subject = true
		case spec.KindGroup, spec.KindPacked:
			for _, f := range p.Fields {
				if f.Kind != spec.KindKey {
					out = append(out, p.Name+".N."+f.Name)
				}
			}
			if ownSubjects(p) {
				out = append(out, p.Name+".N."+ownSubject)
			}
		default:
			out = append(out, p.Name)
		}
	}
	return out
}

// ownSubject names a subject that is not the call's: that of a packed group's row is limits.1.of, that of an argument's keys budgets.of,
// that of one of several keys blocks.0.of.
const ownSubject = "of"

func ownSubjects(g spec.Field) bool { return g.Kind == spec.KindPacked && len(g.Keys()) > 0 }

func near(name string, known []string) string {
	for _, k := range known {
		if strings.HasPrefix(k, name) || strings.HasPrefix(name, k) || sameLetters(k, name) {
			return "; did you mean " + k + "?"
		}
	}
	return ""
}

// sameLetters finds swapped, doubled and missing letters: the words differ in at most two letters' counts.
func sameLetters(a, b string) bool {
	var counts [256]int
	for i := range len(a) {
		counts[a[i]]++
	}
	for i := range len(b) {
		counts[b[i]]--
	}
	difference := 0
	for _, n := range counts {
		difference += max(n, -n)
	}
	return difference <= 2
}

// number reads an integer argument in its unit.
func number(f spec.Field, text string) (int64, error) {
	switch f.Kind {
	case spec.KindDuration:
		return duration(text)
	case spec.KindTime:
		t, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return 0, fmt.Errorf("must be a time as 2026-01-31T12:00:00Z, got %q", text)
		}
		return t.UnixMicro(), nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		unit := "a whole number"
		if f.Kind == spec.KindMicros {
			unit = "a whole number of micros, 1500000 for 1.50"
		}
		return 0, fmt.Errorf("must be %s, got %q", unit, text)
	}
	return n, nil
}

// duration reads 1m, 250ms, 1h30m, 7d, in microseconds, rounded up.
func duration(text string) (int64, error) {
	bad := fmt.Errorf("must be a duration with its unit (us, ms, s, m, h, d), got %q", text)
	days, rest, ok := strings.Cut(text, "d")
	total := int64(0)
	if ok {
		n, err := strconv.ParseUint(days, 10, 26) // 180,000 years, which fit into 64 bits of microseconds
		if err != nil {
			return 0, bad
		}
		total = int64(n) * 86400e6
	} else {
		rest = text
	}
	if rest != "" {
		d, err := time.ParseDuration(rest)
		if err != nil || rest == "0" && ok {
			return 0, bad
		}
		total += fcall.ArgDuration(d)
	}
	return total, nil
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
