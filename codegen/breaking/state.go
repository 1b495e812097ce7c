package breaking

import (
	"fmt"
	"slices"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// placed is a key's suffix with the places of arguments, or of a row's fields, instead of their names.
func placed(k spec.Field, fields []spec.Field) string {
	return k.SuffixWith(func(name string) string { return fmt.Sprintf("<%d>", place(args(fields), name)) })
}

// named compares the names in Redis of one key.
func (c *comparison) named(l list, k pair, was, now []spec.Field) {
	if placed(k.old, was) != placed(k.new, now) {
		c.on(&keyName, l, k.new, "ends in %s and ended in %s: the state under the old key is no longer read", k.new.SuffixText(), k.old.SuffixText())
	}
}

// A namedKey is a key of a function and its name in Redis. Keys that end in some text have one name, whatever argument gives it.
type namedKey struct {
	spec.Field
	in string
}

func namedKeys(fn *spec.Function) (all []namedKey) {
	add := func(keys, fields []spec.Field) {
		for _, k := range keys {
			in := k.Suffix + ":"
			if k.SuffixOf == "" || k.SuffixKind != "" {
				in = placed(k, fields)
			}
			all = append(all, namedKey{k, in})
		}
	}
	add(fn.Keys(), fn.Params)
	for _, p := range fn.Params {
		add(p.Keys(), p.Fields)
	}
	return all
}

// state compares what is stored under the keys that both versions have.
func (c *comparison) state() {
	was := map[string]spec.Field{} // by its name in Redis
	for i := range c.old.Spec.Functions {
		for _, k := range namedKeys(&c.old.Spec.Functions[i]) {
			k.Forever = k.Forever || was[k.in].Forever
			was[k.in] = k.Field
		}
	}
	for i := range c.new.Spec.Functions {
		fn := &c.new.Spec.Functions[i]
		for _, k := range namedKeys(fn) {
			old, ok := was[k.in]
			if ok && old.Redis != k.Redis && old.Redis != "any" && k.Redis != "any" {
				c.at(&keyType, fn.File, k.Line, k.Col, "the key of %s that ends in %s is a %s and was a %s: give it another suffix in a new major", fn.Name, k.SuffixText(), k.Redis, old.Redis)
			}
			if ok && old.Forever && !k.Forever {
				c.at(&keyType, fn.File, k.Line, k.Col, "the key of %s that ends in %s lasted, and no longer does: give it another suffix, or keep it forever", fn.Name, k.SuffixText())
			}
		}
		if old := c.old.function(fn.Name); old != nil && share(namedKeys(old), namedKeys(fn)) {
			c.shapes(old, fn)
		}
	}
}

// share reports whether one name in Redis is in both lists.
func share(a, b []namedKey) bool {
	return slices.ContainsFunc(a, func(k namedKey) bool {
		return slices.ContainsFunc(b, func(o namedKey) bool { return o.in == k.in })
	})
}

// shapes compares what a function stores, by the numbers that it declares.
func (c *comparison) shapes(was, now *spec.Function) {
	for _, old := range was.States {
		i := slices.IndexFunc(now.States, func(s spec.State) bool { return s.Name == old.Name })
		if i < 0 {
			c.at(&stateShape, now.File, now.Line, 1, "%s no longer stores %s, which its keys still hold: give the keys another suffix in a new major version", now.Name, old.Name)
			continue
		}
		switch s := now.States[i]; {
		case s.Number != old.Number:
			c.at(&stateShape, s.File, s.Line, s.Col, "%s has shape %d and had shape %d, under the same keys: give them another suffix in a new major", s.Name, s.Number, old.Number)
		case c.old.Code[old.File] != c.new.Code[s.File]:
			c.at(&stateCode, s.File, s.Line, s.Col, "the code that keeps %s has changed, and its shape is still number %d: is it the same, also for the version before?", s.Name, s.Number)
		}
	}
}
