package bundle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// keyParts returns the Lua table of the Redis types of a call's keys: first those outside groups, then each
// group's.
func (e *entryWriter) keyParts() string {
	part := func(rows string, keys []spec.Field) string {
		names := make([]string, len(keys))
		for i, k := range keys {
			names[i] = quote(k.Redis)
		}
		return fmt.Sprintf("{rows = %s, %s}", rows, strings.Join(names, ", "))
	}
	always, conditional, several := split(e.fn.Keys())
	parts := []string{part("1", always)}
	for _, k := range conditional {
		parts = append(parts, part(fmt.Sprintf("%s and 1 or 0", k.Lua), []spec.Field{k}))
	}
	for _, p := range e.fn.Params {
		if keys := p.Keys(); len(keys) > 0 {
			rows := "#" + p.Lua
			if p.Prepare {
				rows += ", of = " + p.Lua
			}
			parts = append(parts, part(rows, keys))
		}
	}
	for _, k := range several {
		parts = append(parts, part("#"+k.Lua, []spec.Field{k}))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// split separates required keys from those that depend on an argument and from repeated ones.
func split(keys []spec.Field) (always, conditional, several []spec.Field) {
	for _, k := range keys {
		switch {
		case k.Several:
			several = append(several, k)
		case k.With != "":
			conditional = append(conditional, k)
		default:
			always = append(always, k)
		}
	}
	return always, conditional, several
}

// severalKeys writes the list of repeated keys, which follow all others.
func (e *entryWriter) severalKeys(k spec.Field) {
	e.printf("  local %s = rlfunc_none\n  if rlfunc_keys > rlfunc_key then\n", k.Lua)
	e.printf("    if rlfunc_keys > rlfunc_key + %d then\n      return {err = 'RLARG %s must be at most %d keys'}\n    end\n", k.Max, k.Name, k.Max)
	e.printf("    %s = {unpack(keys, rlfunc_key + 1)}\n    rlfunc_key = rlfunc_keys\n  end\n", k.Lua)
}

// conditionalKeys writes the locals of keys that depend on an argument with a fixed position.
func (e *entryWriter) conditionalKeys(always, conditional []spec.Field) {
	e.printf("  local rlfunc_key = %d\n", len(always))
	if len(conditional) == 0 {
		return
	}
	list, all := args(e.fn), make([]string, len(conditional))
	for i, k := range conditional {
		all[i] = k.Lua
	}
	e.printf("  local %s\n", strings.Join(all, ", "))
	behind := !slices.ContainsFunc(conditional, func(k spec.Field) bool {
		return slices.ContainsFunc(list[:e.usual()], func(p spec.Field) bool { return p.Name == k.With })
	})
	if behind {
		e.openRest()
	}
	for _, k := range conditional {
		i := slices.IndexFunc(list, func(p spec.Field) bool { return p.Name == k.With })
		present := fmt.Sprintf("args[%d] ~= ''", i+1)
		if i >= len(list)-e.fn.Omissible() {
			present = fmt.Sprintf("rlfunc_args >= %d and %s", i+1, present)
		}
		e.printf("%sif %s then\n%s  rlfunc_key = rlfunc_key + 1\n%s  %s = keys[rlfunc_key]\n%send\n", e.indent, present, e.indent, e.indent, k.Lua, e.indent)
	}
	if behind {
		e.closeRest()
	}
}
