package breaking

import (
	"fmt"
	"slices"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

var stateRules = []Rule{
	{
		ID: "key-name", Category: State, check: keyName,
		Checks: "Checks that a key keeps its name in Redis: its suffix, and for a group's row what comes after it.",
		Why:    "State under the old name is never read again, so every limit restarts. While old and new clients run, each counts separately.",
	},
	{
		ID: "key-type", Category: State, scope: onKeys, check: keyType,
		Checks: "Checks that a key keeps its Redis type.",
		Why:    "RLSTATE for every subject until its key has expired. Major versions share keys, so another type needs another suffix.",
	},
	{
		ID: "key-forever", Category: State, scope: onKeys, check: keyForever,
		Checks: "Checks that a key that lasts still does.",
		Why:    "One version expires what the other promises to keep.",
	},
	{
		ID: "state-shape", Category: State, scope: onKeys, check: stateShape,
		Checks: "Checks that what a function declares by `@state` keeps its number.",
		Why:    "One version cannot read what the other has stored. Major versions share keys, so another shape needs another suffix.",
	},
	{
		ID: "state-code", Category: State, Note: true, scope: onKeys, check: stateCode,
		Checks: "Checks whether the Lua of a file with an `@state` changed while its number stayed. A note, not a break.",
		Why:    "Only an author knows whether the shape is unchanged.",
	},
}

// redisName is what comes after the subject's tag, with the places of arguments or of a row's fields instead of their names.
func redisName(k spec.Field, row []spec.Field) string {
	at := func(name string) int {
		return slices.IndexFunc(args(row), func(f spec.Field) bool { return f.Name == name })
	}
	return named(k, func(name string) string { return fmt.Sprintf(":<%d>", at(name)) })
}

// shown is the same as the header writes it.
func shown(k spec.Field) string {
	return named(k, func(name string) string { return ":<" + name + ">" })
}

// named is a key's suffix with what stands for each of its parts.
func named(k spec.Field, part func(name string) string) string {
	suffix := k.Suffix
	if k.SuffixKind != "" {
		suffix = part(k.SuffixKind)[1:]
	}
	for _, name := range k.SuffixBy {
		suffix += part(name)
	}
	if k.SuffixOf != "" {
		suffix += part(k.SuffixOf)
	}
	return suffix
}

// A namedKey is a key of a function and its name in Redis. Keys that end in some text have one name, whatever argument gives it.
type namedKey struct {
	spec.Field
	in string
}

func namedKeys(fn *spec.Function) []namedKey {
	var out []namedKey
	for _, p := range fn.Params {
		if p.Kind == spec.KindKey {
			out = append(out, namedKey{p, family(p, nil)})
		}
		for _, k := range p.Keys() {
			out = append(out, namedKey{k, family(k, p.Fields)})
		}
	}
	return out
}

// family is redisName without the place of the text that ends a suffix.
func family(k spec.Field, row []spec.Field) string {
	if k.SuffixOf != "" && k.SuffixKind == "" {
		return k.Suffix + ":"
	}
	return redisName(k, row)
}

func keyName(p *pass) {
	p.functions(func(old, new *spec.Function) {
		visit := func(prefix string, was, now, oldRow, newRow []spec.Field) {
			m := fields(new, prefix, was, now)
			for _, k := range m.pairs {
				if redisName(k.old, oldRow) != redisName(k.new, newRow) {
					p.at(m, k.new, "key %s%s of %s ends in %s and ended in %s: the state under the old key is no longer read",
						prefix, k.new.Name, new.Name, shown(k.new), shown(k.old))
				}
			}
		}
		visit("", keys(old.Params), keys(new.Params), old.Params, new.Params)
		for _, g := range fields(new, "", args(old.Params), args(new.Params)).pairs {
			visit(g.new.Name+".", keys(g.old.Fields), keys(g.new.Fields), g.old.Fields, g.new.Fields)
		}
	})
}

func keyType(p *pass) {
	const any = "any"
	was := map[string]string{}
	for i := range p.old.Spec.Functions {
		for _, k := range namedKeys(&p.old.Spec.Functions[i]) {
			was[k.in] = k.Redis
		}
	}
	for i := range p.new.Spec.Functions {
		fn := &p.new.Spec.Functions[i]
		for _, k := range namedKeys(fn) {
			if old, ok := was[k.in]; ok && old != k.Redis && old != any && k.Redis != any {
				p.add(fn.File, k.Line, k.Col, "the key of %s that ends in %s is a %s and was a %s: give it another suffix in a new major", fn.Name, shown(k.Field), k.Redis, old)
			}
		}
	}
}

func keyForever(p *pass) {
	was := map[string]bool{}
	for i := range p.old.Spec.Functions {
		for _, k := range namedKeys(&p.old.Spec.Functions[i]) {
			was[k.in] = was[k.in] || k.Forever
		}
	}
	for i := range p.new.Spec.Functions {
		fn := &p.new.Spec.Functions[i]
		for _, k := range namedKeys(fn) {
			if was[k.in] && !k.Forever {
				p.add(fn.File, k.Line, k.Col, "the key of %s that ends in %s lasted, and no longer does: give it another suffix, or keep it forever", fn.Name, shown(k.Field))
			}
		}
	}
}

// A shape is a state whose number changed, and the functions that store it.
type shape struct {
	old, new  spec.State
	functions []string
}

// shapes visits what functions keep under a name in Redis that both versions have. A state that is gone has the number 0.
func (p *pass) shapes(visit func(fn *spec.Function, old, new spec.State)) {
	p.functions(func(old, new *spec.Function) {
		now := namedKeys(new)
		shared := slices.ContainsFunc(namedKeys(old), func(was namedKey) bool {
			return slices.ContainsFunc(now, func(k namedKey) bool { return k.in == was.in })
		})
		if !shared {
			return
		}
		for _, was := range old.States {
			i := slices.IndexFunc(new.States, func(s spec.State) bool { return s.Name == was.Name })
			if i < 0 {
				visit(new, was, spec.State{Name: was.Name, File: new.File, Line: new.Line, Col: 1})
			} else {
				visit(new, was, new.States[i])
			}
		}
	})
}

// group collects the functions of each state, in order.
func group(found []shape, fn *spec.Function, old, new spec.State) []shape {
	i := slices.IndexFunc(found, func(s shape) bool { return s.new == new })
	if i < 0 {
		i = len(found)
		found = append(found, shape{old: old, new: new})
	}
	found[i].functions = append(found[i].functions, fn.Name)
	return found
}

func stateShape(p *pass) {
	var found []shape
	p.shapes(func(fn *spec.Function, old, new spec.State) {
		if old.Number != new.Number {
			found = group(found, fn, old, new)
		}
	})
	for _, s := range found {
		if s.new.Number == 0 {
			p.add(s.new.File, s.new.Line, s.new.Col, "%s no longer stores %s, which its keys still hold: give the keys another suffix in a new major version", list(s.functions), s.old.Name)
			continue
		}
		p.add(s.new.File, s.new.Line, s.new.Col, "%s has shape %d and had shape %d, under the same keys of %s: give them another suffix in a new major",
			s.new.Name, s.new.Number, s.old.Number, list(s.functions))
	}
}

func stateCode(p *pass) {
	var found []shape
	p.shapes(func(fn *spec.Function, old, new spec.State) {
		if old.Number == new.Number && p.old.Code[old.File] != p.new.Code[new.File] {
			found = group(found, fn, old, new)
		}
	})
	for _, s := range found {
		p.add(s.new.File, s.new.Line, s.new.Col, "the code that keeps %s has changed, and its shape is still number %d: is it the same, also for the version before?", s.new.Name, s.new.Number)
	}
}
