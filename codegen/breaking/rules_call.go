package breaking

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

var callRules = []Rule{
	{
		ID: "library-removed", Category: Call, scope: everywhere, check: libraryRemoved,
		Checks: "Checks that no library is removed.",
		Why:    "Servers keep it until `retire`, but a new or emptied server doesn't get it back: `ERR Function not found`.",
	},
	{
		ID: "function-removed", Category: Call, check: functionRemoved,
		Checks: "Checks that no function is removed.",
		Why:    "`ERR Function not found` from the moment of the deploy.",
	},
	{
		ID: "function-flags", Category: Call, check: functionFlags,
		Checks: "Checks that no flag change makes a server refuse calls that it ran.",
		Why:    "Without `no-writes`, FCALL_RO and replicas refuse the call; without `allow-oom`, a full server does; with `no-cluster`, a cluster does.",
	},
	{
		ID: "keys", Category: Call, check: keyCount,
		Checks: "Checks that a call carries as many keys as before, in the same order.",
		Why:    "Keys are read by position: RLARG, or one key is read as another.",
	},
	{
		ID: "argument-removed", Category: Call, check: argumentRemoved,
		Checks: "Checks that no argument is removed.",
		Why:    "A call carries exactly the header's arguments: RLARG.",
	},
	{
		ID: "argument-added", Category: Call, check: argumentAdded,
		Checks: "Checks that a new argument is optional and at the end, of a call or of a group's row.",
		Why:    "Arguments are read by position. An old client doesn't send one that is optional and at the end, but an older library refuses calls that do: deploy before the services.",
	},
	{
		ID: "argument-order", Category: Call, check: argumentOrder,
		Checks: "Checks that arguments keep their order.",
		Why:    "They are read by position: a limit is read as a window.",
	},
	{
		ID: "argument-type", Category: Call, check: argumentType,
		Checks: "Checks that an argument keeps its type, and with it its unit.",
		Why:    "RLARG, or worse: 60 seconds' worth of microseconds are taken as a count.",
	},
	{
		ID: "argument-bounds", Category: Call, check: argumentBounds,
		Checks: "Checks that an argument's bounds, or a group's, are not narrower.",
		Why:    "Values that an old client accepts get RLARG.",
	},
	{
		ID: "argument-values", Category: Call, check: argumentValues,
		Checks: "Checks that an enum argument still takes each of its values.",
		Why:    "RLARG for calls that send the removed value.",
	},
	{
		ID: "argument-required", Category: Call, check: argumentRequired,
		Checks: "Checks that an optional argument stays optional.",
		Why:    "RLARG for calls that omit it.",
	},
	{
		ID: "argument-default", Category: Call, check: argumentDefault,
		Checks: "Checks that an omitted argument keeps its meaning.",
		Why:    "The default is the server's: calls that omit it change their meaning with the deploy.",
	},
	{
		ID: "argument-rule", Category: Call, check: argumentRule,
		Checks: "Checks that no @must asks more of arguments together than before.",
		Why:    "RLARG for calls that were allowed. If the function always refused them, and the header only says so now, allow the finding.",
	},
}

func libraryRemoved(p *pass) {
	if p.new == nil {
		p.add(p.newTree.Root, 1, 1, "library %s %s was removed", p.old.Spec.Name, p.old.Spec.Version)
	}
}

func functionRemoved(p *pass) {
	for _, fn := range p.old.Spec.Functions {
		if p.new.function(fn.Name) == nil {
			p.atLibrary("function %s is gone", fn.Name)
		}
	}
}

func functionFlags(p *pass) {
	p.functions(func(old, new *spec.Function) {
		gone := func(flag string) bool { return old.Has(flag) && !new.Has(flag) }
		switch {
		case gone("no-writes"):
			p.gone(new, "%s has lost the flag no-writes: old clients call it by FCALL_RO, which a function that may write refuses, as replicas do", new.Name)
		case gone("allow-oom") && !new.Has("no-writes"):
			p.gone(new, "%s has lost the flag allow-oom: a server over its maxmemory refuses it now", new.Name)
		case gone("allow-stale"):
			p.gone(new, "%s has lost the flag allow-stale: a replica that has lost its primary refuses it now", new.Name)
		case !old.Has("no-cluster") && new.Has("no-cluster"):
			p.gone(new, "%s has the flag no-cluster now: a server in cluster mode refuses it", new.Name)
		}
	})
}

func keyCount(p *pass) {
	p.keys(func(m match, old []spec.Field) {
		for _, k := range m.removed {
			p.gone(m.fn, "key %s%s of %s is gone", m.prefix, k.Name, m.fn.Name)
		}
		for _, k := range m.added {
			if !k.Several { // a call may have none of these
				p.at(m, k, "key %s%s of %s is new: old clients do not send it", m.prefix, k.Name, m.fn.Name)
			}
		}
		was := p.old.function(m.fn.Name)
		for _, f := range m.pairs {
			if f.old.Several != f.new.Several || f.new.Max < f.old.Max {
				p.at(m, f.new, "key %s%s of %s occurs at most %s times, formerly at most %s", m.prefix, f.new.Name, m.fn.Name, times(f.new), times(f.old))
			}
			if place(was, f.old.With) != place(m.fn, f.new.With) {
				p.at(m, f.new, "key %s%s of %s goes with another argument: old clients do not know when to send it", m.prefix, f.new.Name, m.fn.Name)
			}
		}
		if f := m.moved(old); f != nil {
			p.at(m, f.new, "key %s%s of %s moved: keys are read by position", m.prefix, f.new.Name, m.fn.Name)
		}
	})
}

// place is where an argument stands among a function's arguments, whatever its name; -1 for none.
func place(fn *spec.Function, name string) int {
	return slices.IndexFunc(args(fn.Params), func(f spec.Field) bool { return f.Name == name })
}

// times is how often a call may have a key.
func times(k spec.Field) string {
	if k.Several {
		return fmt.Sprintf("%d times", k.Max)
	}
	return "once"
}

func argumentRemoved(p *pass) {
	p.arguments(func(m match, _ []spec.Field) {
		for _, f := range m.removed {
			p.gone(m.fn, "argument %s%s of %s is gone", m.prefix, f.Name, m.fn.Name)
		}
	})
}

func argumentAdded(p *pass) {
	p.arguments(func(m match, old []spec.Field) {
		for i, f := range m.added {
			if f.Optional && m.appended(i, old) {
				continue
			}
			p.at(m, f, "argument %s%s of %s is new: old clients do not send it; append it, as an optional one",
				m.prefix, f.Name, m.fn.Name)
		}
	})
}

func argumentOrder(p *pass) {
	p.arguments(func(m match, old []spec.Field) {
		if f := m.moved(old); f != nil {
			p.at(m, f.new, "argument %s%s of %s moved: arguments are read by position", m.prefix, f.new.Name, m.fn.Name)
		}
	})
}

func argumentType(p *pass) {
	p.argument(func(m match, f fieldPair) {
		if f.old.Kind != f.new.Kind {
			p.at(m, f.new, "argument %s%s of %s is %s and was %s", m.prefix, f.new.Name, m.fn.Name, f.new.Kind, f.old.Kind)
		}
	})
}

func argumentBounds(p *pass) {
	p.argument(func(m match, f fieldPair) {
		if f.old.Kind != f.new.Kind {
			return
		}
		if f.new.Min > f.old.Min {
			p.at(m, f.new, "argument %s%s of %s has at least %s and had at least %s", m.prefix, f.new.Name, m.fn.Name, bound(f.new, f.new.Min), bound(f.old, f.old.Min))
		}
		if f.new.Max < f.old.Max {
			p.at(m, f.new, "argument %s%s of %s has at most %s and had at most %s", m.prefix, f.new.Name, m.fn.Name, bound(f.new, f.new.Max), bound(f.old, f.old.Max))
		}
	})
}

func bound(f spec.Field, n int64) string {
	switch f.Kind {
	case spec.KindDuration:
		return (time.Duration(n) * time.Microsecond).String()
	case spec.KindText:
		return plural(n, "byte")
	case spec.KindGroup:
		return plural(n, "row")
	}
	return strconv.FormatInt(n, 10)
}

func plural(n int64, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// lost are the values of an enum that the other one has not.
func lost(from, to spec.Field) []string {
	if from.Kind != spec.KindEnum || to.Kind != spec.KindEnum {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(from.Values), func(v string) bool { return slices.Contains(to.Values, v) })
}

func argumentValues(p *pass) {
	p.argument(func(m match, f fieldPair) {
		if values := lost(f.old, f.new); len(values) > 0 {
			p.at(m, f.new, "argument %s%s of %s is no longer %s", m.prefix, f.new.Name, m.fn.Name, strings.Join(values, " or "))
		}
	})
}

func argumentRequired(p *pass) {
	p.argument(func(m match, f fieldPair) {
		if f.old.Optional && !f.new.Optional {
			p.at(m, f.new, "argument %s%s of %s was optional", m.prefix, f.new.Name, m.fn.Name)
		}
	})
}

func argumentDefault(p *pass) {
	p.argument(func(m match, f fieldPair) {
		if f.old.Kind != f.new.Kind || !f.old.Optional || !f.new.Optional {
			return
		}
		if old, new := meaning(f.old), meaning(f.new); old != new {
			p.at(m, f.new, "an omitted %s%s of %s means %s and meant %s", m.prefix, f.new.Name, m.fn.Name, new, old)
		}
	})
}

// meaning is what an absent argument means.
func meaning(f spec.Field) string {
	value, given := f.DefaultWord()
	switch {
	case f.Kind == spec.KindBool:
		return strconv.FormatBool(value == "true")
	case f.Kind == spec.KindText && given:
		return strconv.Quote(value)
	case given:
		return value
	}
	return "what the function makes of it"
}
