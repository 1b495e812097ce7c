package breaking

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/codegen/internal/goclient"
	"github.com/rlfunc/rlfunc/codegen/internal/rule"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

// functions compares what calls and replies carry.
func (c *comparison) functions() {
	for i := range c.old.Spec.Functions {
		was := &c.old.Spec.Functions[i]
		now := c.new.function(was.Name)
		if now == nil {
			c.atVersion(&functionRemoved, "function %s is gone", was.Name)
			continue
		}
		c.flags(was, now)
		c.keys(was, now)
		c.arguments(was, now)
		c.results(was, now)
	}
}

func (c *comparison) flags(was, now *spec.Function) {
	gone := func(flag string) bool { return was.Has(flag) && !now.Has(flag) }
	why := ""
	switch {
	case gone("no-writes"):
		why = "has lost the flag no-writes: old clients call it by FCALL_RO, which a function that may write refuses, as replicas do"
	case gone("allow-oom") && !now.Has("no-writes"):
		why = "has lost the flag allow-oom: a server over its maxmemory refuses it now"
	case gone("allow-stale"):
		why = "has lost the flag allow-stale: a replica that has lost its primary refuses it now"
	case !was.Has("no-cluster") && now.Has("no-cluster"):
		why = "has the flag no-cluster now: a server in cluster mode refuses it"
	default:
		return
	}
	c.at(&functionFlags, now.File, now.Line, 1, "%s %s", now.Name, why)
}

// A list is what travels by position: the keys, arguments or results of a function, or of a group's row.
type list struct {
	rule     *Rule
	fn       *spec.Function // of the new version
	word     string         // "argument"
	group    string         // "limits.", of a row
	old, new []spec.Field
}

// A pair is a field before and after. Their names differ where it was renamed, which no running client notices.
type pair struct{ old, new spec.Field }

func has(fields []spec.Field, name string) bool { return place(fields, name) >= 0 }

func place(fields []spec.Field, name string) int {
	return slices.IndexFunc(fields, func(f spec.Field) bool { return f.Name == name })
}

// on reports a finding at a field of the list.
func (c *comparison) on(rule *Rule, l list, f spec.Field, format string, args ...any) {
	c.at(rule, cmp.Or(f.File, l.fn.File), cmp.Or(f.Line, l.fn.Line), f.Col, "%s %s%s of %s %s", l.word, l.group, f.Name, l.fn.Name, fmt.Sprintf(format, args...))
}

// pairs returns the fields that stand where they stood, up to the first that does not, and what is new behind them. A field whose name is
// gone was renamed, unless the one in its place stood elsewhere.
func (c *comparison) pairs(l list) (kept []pair, added []spec.Field) {
	for i, was := range l.old {
		if i == len(l.new) {
			c.at(l.rule, l.fn.File, l.fn.Line, 1, "%s %s%s of %s is gone", l.word, l.group, was.Name, l.fn.Name)
			return kept, nil
		}
		now := l.new[i]
		if now.Name != was.Name && (has(l.new, was.Name) || has(l.old, now.Name)) {
			c.on(l.rule, l, now, "stands where %s did: %ss are read by position, so put new ones last", was.Name, l.word)
			return kept, nil
		}
		kept = append(kept, pair{was, now})
	}
	return kept, l.new[len(l.old):]
}

// values compares what arguments and results have in common, visits those that kept their kind, and returns those that are new.
func (c *comparison) values(l list, visit func(p pair)) (added []spec.Field) {
	kept, added := c.pairs(l)
	for _, p := range kept {
		if p.old.Name != p.new.Name {
			c.on(&clientCode, l, p.new, "was called %s", p.old.Name)
		}
		if p.old.Kind != p.new.Kind {
			c.on(l.rule, l, p.new, "is %s and was %s", p.new.Kind, p.old.Kind)
			continue
		}
		visit(p)
	}
	return added
}

func args(fields []spec.Field) []spec.Field {
	return slices.DeleteFunc(slices.Clone(fields), func(f spec.Field) bool { return f.Kind == spec.KindKey })
}

func (c *comparison) keys(was, now *spec.Function) {
	kept, added := c.pairs(list{&keyPlace, now, "key", "", was.Keys(), now.Keys()})
	l := list{fn: now, word: "key"}
	for _, k := range added {
		// An old call has none of the keys that repeat, nor of those that go with an argument which it cannot send.
		if !k.Several && (k.With == "" || with(now, k) < len(args(was.Params))) {
			c.on(&keyPlace, l, k, "is new: old clients do not send it")
		}
	}
	for _, p := range kept {
		if p.old.Several != p.new.Several || p.new.Max < p.old.Max {
			c.on(&keyPlace, l, p.new, "occurs at most %s, formerly at most %s", times(p.new), times(p.old))
		}
		if with(was, p.old) != with(now, p.new) {
			c.on(&keyPlace, l, p.new, "goes with another argument: old clients do not know when to send it")
		}
		c.named(l, p, was.Params, now.Params)
	}
}

// with is the place of the argument that a key goes with, whatever its name; -1 for none.
func with(fn *spec.Function, k spec.Field) int { return place(args(fn.Params), k.With) }

// times is how often a call may have a key.
func times(k spec.Field) string {
	if k.Several {
		return fmt.Sprintf("%d times", k.Max)
	}
	return "once"
}

// words are the names in the expression of a rule, and its texts.
var words = regexp.MustCompile(`'[^']*'|"[^"]*"|\w+`)

func (c *comparison) arguments(was, now *spec.Function) {
	sent := map[string]bool{}      // the paths of arguments that old clients know
	renamed := map[string]string{} // what old rules call arguments that have another name now
	var compare func(l list)
	compare = func(l list) {
		added := c.values(l, func(p pair) {
			sent[l.group+p.new.Name] = true
			renamed[p.old.LuaName()] = p.new.LuaName()
			c.argument(l, p)
			if p.new.Kind == spec.KindGroup {
				in := p.new.Name + "."
				compare(list{&argumentPlace, now, "argument", in, args(p.old.Fields), args(p.new.Fields)})
				keys := list{&keyPlace, now, "key", in, p.old.Keys(), p.new.Keys()}
				kept, added := c.pairs(keys)
				for _, k := range added {
					c.on(&keyPlace, keys, k, "is new: old clients do not send it")
				}
				for _, k := range kept {
					c.named(keys, k, p.old.Fields, p.new.Fields)
				}
			}
		})
		for _, f := range added {
			if !f.Optional && (f.Kind != spec.KindGroup || f.Min > 0) {
				c.on(&argumentPlace, l, f, "is new: old clients do not send it, so make it optional")
			}
		}
	}
	compare(list{&argumentPlace, now, "argument", "", args(was.Params), args(now.Params)})
	for i := range now.Rules {
		r := &now.Rules[i]
		same := func(o spec.Rule) bool {
			return r.Expression == words.ReplaceAllStringFunc(o.Expression, func(word string) string { return cmp.Or(renamed[word], word) })
		}
		if !slices.ContainsFunc(was.Rules, same) && !holds(now, r, sent) {
			c.at(&argumentNarrower, cmp.Or(r.File, now.File), r.Line, r.Col, "%s asks more than before: %s", now.Name, r.Text())
		}
	}
}

// argument compares what is taken for one argument.
func (c *comparison) argument(l list, p pair) {
	if p.new.Min > p.old.Min {
		c.on(&argumentNarrower, l, p.new, "has at least %s and had at least %s", bound(p.new, p.new.Min), bound(p.old, p.old.Min))
	}
	if p.new.Max < p.old.Max {
		c.on(&argumentNarrower, l, p.new, "has at most %s and had at most %s", bound(p.new, p.new.Max), bound(p.old, p.old.Max))
	}
	if gone := lost(p.old, p.new); gone != "" {
		c.on(&argumentNarrower, l, p.new, "is no longer %s", gone)
	}
	if p.old.Optional && !p.new.Optional {
		c.on(&argumentNarrower, l, p.new, "was optional")
	}
	if was, is := omitted(p.old), omitted(p.new); p.old.Optional && p.new.Optional && was != is {
		c.on(&argumentDefault, l, p.new, "means %s if it is omitted, and meant %s", is, was)
	}
	switch is := goclient.Pointer(p.new); {
	case is == goclient.Pointer(p.old):
	case is:
		c.on(&clientCode, l, p.new, "is optional and may be 0: its Go field becomes a pointer")
	default:
		c.on(&clientCode, l, p.new, "was optional with a legal 0: its Go field is no longer a pointer")
	}
}

// holds reports whether a @must is true whatever is given for the arguments that old clients send, and without the others.
func holds(fn *spec.Function, r *spec.Rule, sent map[string]bool) bool {
	is := rule.Of(fn, r).Eval(func(path string) any {
		if sent[path] {
			return rule.Unknown{}
		}
		f, _ := fn.Arg(path)
		return rule.Absent(f)
	})
	return is != rule.Unknown{} && is != nil && is != false
}

func bound(f spec.Field, n int64) string {
	unit := map[spec.Kind]string{spec.KindText: "byte", spec.KindGroup: "row"}[f.Kind]
	switch {
	case f.Kind == spec.KindDuration:
		return (time.Duration(n) * time.Microsecond).String()
	case unit == "":
		return strconv.FormatInt(n, 10)
	case n == 1:
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

// lost are the values of an enum that the other one has not.
func lost(from, to spec.Field) string {
	gone := slices.DeleteFunc(slices.Clone(from.Values), func(v string) bool { return slices.Contains(to.Values, v) })
	return strings.Join(gone, " or ")
}

// omitted is what an absent argument means.
func omitted(f spec.Field) string {
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

func (c *comparison) results(was, now *spec.Function) {
	var compare func(l list)
	compare = func(l list) {
		c.values(l, func(p pair) {
			if more := lost(p.new, p.old); more != "" {
				c.on(&replyUnknown, l, p.new, "may be %s now: old clients do not know that", more)
			}
			if gone := lost(p.old, p.new); gone != "" {
				c.on(&clientCode, l, p.new, "is no longer %s", gone)
			}
			if p.new.Kind == spec.KindGroup {
				compare(list{&resultPlace, now, "result", p.new.Name + ".", p.old.Fields, p.new.Fields})
			}
		})
	}
	compare(list{&resultPlace, now, "result", "", was.Results, now.Results})
	known := []string{"RLARG", "RLSTATE"} // by every client
	for _, e := range was.Errors {
		known = append(known, e.Code)
	}
	for _, e := range now.Errors {
		if !slices.Contains(known, e.Code) {
			c.at(&replyUnknown, now.File, now.Line, 1, "error %s of %s is new: old clients do not know it", e.Code, now.Name)
		}
	}
}
