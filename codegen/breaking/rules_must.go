package breaking

import (
	"regexp"
	"slices"

	"github.com/rlfunc/rlfunc/codegen/internal/rule"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

// argumentRule finds rules that the old version did not have, in the same words, and that may refuse its calls.
func argumentRule(p *pass) {
	p.functions(func(old, new *spec.Function) {
		names := renames(old, new)
		for i := range new.Rules {
			now := &new.Rules[i]
			same := func(was spec.Rule) bool {
				return words.ReplaceAllStringFunc(was.Expression, func(w string) string {
					if to, ok := names.lua[w]; ok {
						return to
					}
					return w
				}) == now.Expression
			}
			if slices.ContainsFunc(old.Rules, same) || holdsWithout(new, now, names) {
				continue
			}
			file := now.File
			if file == "" {
				file = new.File
			}
			p.add(file, now.Line, now.Col, "%s asks more than before: %s", new.Name, now.Text())
		}
	})
}

var words = regexp.MustCompile(`'[^']*'|"[^"]*"|[a-z_][a-z_0-9]*`)

// A naming says how the arguments of the old version are called in the new one: their names in Lua, and the new version's paths.
type naming struct {
	lua   map[string]string
	known map[string]bool
}

func renames(old, new *spec.Function) naming {
	n := naming{map[string]string{}, map[string]bool{}}
	for _, pair := range fields(new, "", args(old.Params), args(new.Params)).pairs {
		n.lua[pair.old.Lua], n.known[pair.new.Name] = pair.new.Lua, true
		for _, inner := range fields(new, "", args(pair.old.Fields), args(pair.new.Fields)).pairs {
			n.lua[inner.old.Lua], n.known[pair.new.Name+"."+inner.new.Name] = inner.new.Lua, true
		}
	}
	return n
}

// holdsWithout reports whether a rule holds for each call that omits the arguments which are new.
func holdsWithout(new *spec.Function, r *spec.Rule, names naming) bool {
	holds := rule.Of(new, r).Eval(func(path string) any {
		f, _ := new.Arg(path)
		if names.known[path] {
			return rule.Unknown{}
		}
		return rule.Absent(f)
	})
	return holds != rule.Unknown{} && holds != nil && holds != false
}
