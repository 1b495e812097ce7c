package bundle

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// maxInt is spec.MaxInt as Lua reads it.
var maxInt = strconv.FormatInt(spec.MaxInt, 10)

// An entryWriter writes what stands between Redis and one function.
type entryWriter struct {
	*writer
	fn       *spec.Function
	indent   string
	row      bool   // inside a group
	end      string // of an argument that may be left out: the condition that it is there
	declared bool   // whether the local of the argument is there with what its absence means
	packed   bool   // inside a row of a packed group
}

func writeEntry(w *writer, fn *spec.Function) {
	e := &entryWriter{writer: w, fn: fn, indent: "  "}
	none := false
	for _, p := range fn.Params {
		if p.Kind == spec.KindPacked {
			e.decoder(p)
			none = none || p.Min == 0
		}
		none = none || p.Several
	}
	if none {
		w.printf("local rlfunc_none = {} -- the rows of a group without any\n")
	}
	e.enums(fn.Results, "")
	w.printf("\n-- Joins %s to Redis.\n", fn.Name)
	w.printf("local function %s(keys, args)\n", fn.Server)
	e.arity()
	e.subject()
	call := e.params()
	e.call(call)
	w.printf("end\n")
	w.printf("redis.register_function{function_name = '%s', callback = %s, description = %s", fn.Server, fn.Server, quote(fn.Summary))
	if len(fn.Flags) > 0 {
		w.printf(", flags = {%s}", "'"+strings.Join(fn.Flags, "', '")+"'")
	}
	w.printf("}\n")
}

// keyParts is the Lua table of the Redis types that a call's keys have by the header: first those outside groups, then each
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

// split parts the keys that every call has from those that go with an argument, and from those that a call has any number of.
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

// severalKeys writes the list of the keys that stand behind all others.
func (e *entryWriter) severalKeys(k spec.Field) {
	e.printf("  local %s = rlfunc_none\n  if rlfunc_keys > rlfunc_key then\n", k.Lua)
	e.printf("    if rlfunc_keys > rlfunc_key + %d then\n      return {err = 'RLARG %s must be at most %d keys'}\n    end\n", k.Max, k.Name, k.Max)
	e.printf("    %s = {unpack(keys, rlfunc_key + 1)}\n    rlfunc_key = rlfunc_keys\n  end\n", k.Lua)
}

// conditionalKeys writes the locals of keys that go with an argument, which has its place in every call.
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

// openRest begins what only a call reads that sends more than the arguments that most calls send: those that every call has, or the
// first. It does nothing where few arguments may be left out.
func (e *entryWriter) openRest() {
	if e.rest() {
		e.printf("  if rlfunc_args > %d then\n", e.usual())
		e.indent = "    "
	}
}

func (e *entryWriter) closeRest() {
	if e.rest() {
		e.indent = "  "
		e.printf("  end\n")
	}
}

// usual is how many arguments most calls send.
func (e *entryWriter) usual() int { return max(len(args(e.fn))-e.fn.Omissible(), 1) }

// rest reports whether arguments behind the usual ones are decoded in a block of their own.
func (e *entryWriter) rest() bool {
	list := args(e.fn)
	if slices.ContainsFunc(list, func(p spec.Field) bool { return p.Kind == spec.KindGroup }) || len(list)-e.usual() < 2 {
		return false
	}
	return !slices.ContainsFunc(list[e.usual():], func(p spec.Field) bool { return len(p.Keys()) > 0 })
}

func (e *entryWriter) arity() {
	always, conditional, several := split(e.fn.Keys())
	keys, args, groups, keyed := len(always), 0, 0, len(conditional)+len(several) > 0
	for _, p := range e.fn.Params {
		switch p.Kind {
		case spec.KindKey:
		case spec.KindPacked:
			args++
			keyed = keyed || len(p.Keys()) > 0
		case spec.KindGroup:
			args++
			groups++
		default:
			args++
		}
	}
	least := args - e.fn.Omissible()
	wrongKeys, atLeast := fmt.Sprintf("#keys ~= %d", keys), ""
	if keyed || groups > 0 {
		wrongKeys, atLeast = fmt.Sprintf("#keys < %d", keys), "at least "
	}
	wrongArgs, words := fmt.Sprintf("#args ~= %d", args), plural(args, "argument")
	switch {
	case groups > 0:
		wrongArgs, words = fmt.Sprintf("#args < %d", least), plural(least, "argument")
	case least == 0:
		wrongArgs, words = fmt.Sprintf("#args > %d", args), "at most "+plural(args, "argument")
	case least < args:
		wrongArgs, words = fmt.Sprintf("#args < %d or #args > %d", least, args), fmt.Sprintf("%d to %d arguments", least, args)
	}
	if least < args {
		e.printf("  local rlfunc_args = #args\n")
		wrongArgs = strings.ReplaceAll(wrongArgs, "#args", "rlfunc_args")
	}
	if keyed {
		e.printf("  local rlfunc_keys = #keys\n")
		wrongKeys = strings.ReplaceAll(wrongKeys, "#keys", "rlfunc_keys")
	}
	e.printf("  if %s or %s then\n", wrongKeys, wrongArgs)
	e.printf("    return {err = 'RLARG %s must be called with %s%s and %s'}\n  end\n", e.fn.Name, atLeast, plural(keys, "key"), words)
}

// subject writes the check of the first key: with nothing between the braces all callers without a name would share it, and on a
// cluster the keys of a call would not share a slot.
func (e *entryWriter) subject() {
	e.printf("  if keys[1]:find('{}', 1, true) then\n    return {err = 'RLARG %s must not be empty'}\n  end\n", e.fn.Keys()[0].Name)
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// params decodes keys and arguments and returns the expressions that the function is called with.
func (e *entryWriter) params() []string {
	var call []string
	key, arg := 1, 1
	grouped := false // from the first group on, positions are known at run time only
	always, conditional, several := split(e.fn.Keys())
	keyed := len(conditional)+len(several) > 0 // so are those of keys, from the first one on that may be absent or is a group's
	if keyed {
		e.conditionalKeys(always, conditional)
	}
	end := len(args(e.fn)) - e.fn.Omissible()
	for _, p := range e.fn.Params {
		if p.Kind != spec.KindKey && e.rest() && arg == e.usual()+1 {
			e.declareRest()
			e.openRest()
		}
		e.declared = e.rest() && arg > e.usual()
		e.end = ""
		if p.Kind != spec.KindKey && arg > end {
			e.end = fmt.Sprintf("rlfunc_args >= %d and ", arg)
		}
		switch {
		case p.Kind == spec.KindPacked:
			from := fmt.Sprintf("args[%d]", arg)
			if grouped {
				from = "args[rlfunc_arg]"
				e.next()
			}
			if len(p.Keys()) > 0 && !grouped && !keyed {
				e.printf("  local rlfunc_key = %d\n", len(e.fn.Keys()))
				keyed = true
			}
			call = append(call, e.unpack(p, from)...)
			arg++
		case p.Kind == spec.KindKey && (p.With != "" || p.Several):
			call = append(call, p.Lua)
		case p.Kind == spec.KindKey:
			call = append(call, fmt.Sprintf("keys[%d]", key))
			key++
		case p.Kind == spec.KindGroup:
			switch {
			case !grouped && keyed:
				e.printf("  local rlfunc_arg = %d\n", arg-1)
			case !grouped:
				e.printf("  local rlfunc_key, rlfunc_arg = %d, %d\n", len(e.fn.Keys()), arg-1)
			}
			grouped = true
			e.group(p)
			call = append(call, p.Lua)
			arg++
		case grouped:
			e.next()
			e.value(p, "local "+p.Lua, "args[rlfunc_arg]", quote("RLARG "+must(p, p.Name)))
			call = append(call, p.Lua)
			arg++
		default:
			target := "local " + p.Lua
			if e.declared {
				target = p.Lua
			}
			e.value(p, target, fmt.Sprintf("args[%d]", arg), quote("RLARG "+must(p, p.Name)))
			call = append(call, p.Lua)
			arg++
		}
	}
	if e.declared {
		e.closeRest()
	}
	e.end, e.declared = "", false
	for _, k := range several {
		e.severalKeys(k)
	}
	switch {
	case grouped:
		differ := "~="
		if e.fn.Omissible() > 0 {
			differ = ">"
		}
		args := "#args"
		if differ == ">" {
			args = "rlfunc_args"
		}
		e.printf("  if %s %s rlfunc_arg or #keys ~= rlfunc_key then\n", args, differ)
		e.printf("    return {err = 'RLARG %s must be called with as many keys and arguments as its groups have rows'}\n  end\n", e.fn.Name)
	case keyed:
		e.printf("  if rlfunc_keys ~= rlfunc_key then\n")
		e.printf("    return {err = 'RLARG %s must be called with as many keys and arguments as its groups have rows'}\n  end\n", e.fn.Name)
	}
	return call
}

// declareRest declares what the rest of the arguments decode to, with what their absence means.
func (e *entryWriter) declareRest() {
	var names, values []string
	for _, p := range args(e.fn)[e.usual():] {
		names = append(names, p.Lua)
		_, value, _ := strings.Cut(absent(p, ""), " = ")
		switch {
		case p.Kind == spec.KindPacked:
			value = "rlfunc_none"
		case value == "":
			value = "nil"
		}
		values = append(values, value)
	}
	for len(values) > 1 && values[len(values)-1] == "nil" {
		values = values[:len(values)-1]
	}
	e.printf("  local %s = %s\n", strings.Join(names, ", "), strings.Join(values, ", "))
}

func args(fn *spec.Function) []spec.Field {
	return slices.DeleteFunc(slices.Clone(fn.Params), func(p spec.Field) bool { return p.Kind == spec.KindKey })
}

// next moves to the next argument, where positions are known at run time only.
func (e *entryWriter) next() {
	e.printf("%srlfunc_arg = rlfunc_arg + 1\n", e.indent)
	if e.end != "" {
		e.end = "rlfunc_args >= rlfunc_arg and "
		return
	}
	e.printf("%sif not args[rlfunc_arg] then\n", e.indent)
	e.printf("%s  return {err = 'RLARG %s must be called with as many keys and arguments as its groups have rows'}\n%send\n", e.indent, e.fn.Name, e.indent)
}

// value writes the check and decoding of one argument; refusal is a Lua expression of the error's text.
func (e *entryWriter) value(p spec.Field, target, from, refusal string) {
	in := e.indent
	refuse := func(condition string) {
		if e.packed {
			e.printf("%sif %s then\n%s  return nil, %s\n%send\n", in, condition, in, refusal, in)
			return
		}
		e.printf("%sif %s then\n%s  return {err = %s}\n%send\n", in, condition, in, refusal, in)
	}
	name := strings.TrimPrefix(target, "local ")
	if p.Optional {
		if !e.declared {
			e.printf("%s%s\n", in, absent(p, target))
		}
		e.printf("%sif %s%s ~= '' then\n", in, e.end, from)
		e.indent += "  "
		required := p
		required.Optional = false
		e.value(required, name, from, refusal)
		e.indent = in
		e.printf("%send\n", in)
		return
	}
	switch p.Kind {
	case spec.KindBool:
		e.printf("%s%s = %s == '1'\n", in, target, from)
		refuse(fmt.Sprintf("not %s and %s ~= '0'", name, from))
	case spec.KindText:
		if e.packed {
			e.printf("%s%s = rlfunc_pack.text(%s)\n", in, target, from)
			refuse(fmt.Sprintf("not %s or #%s < %d or #%s > %d", name, name, p.Min, name, p.Max))
			return
		}
		e.printf("%s%s = %s\n", in, target, from)
		refuse(fmt.Sprintf("#%s < %d or #%s > %d", name, p.Min, name, p.Max))
	case spec.KindEnum:
		e.printf("%s%s = %s\n", in, target, from)
		tests := make([]string, len(p.Values))
		for i, v := range p.Values {
			tests[i] = fmt.Sprintf("%s ~= '%s'", name, v)
		}
		refuse(strings.Join(tests, " and "))
	default:
		number := integer(p, from, e.row)
		if e.packed { // the rows are kept, so the numbers need not be
			number = fmt.Sprintf("rlfunc_whole(%s)", from)
		}
		e.printf("%s%s = %s\n", in, target, number)
		refuse(outside(name, p))
	}
}

// maxCached is the upper bound of counts that callers repeat, as limits and costs.
const maxCached = 1_000_000_000

// integer is the Lua expression of a text's number, nil when it is not a canonical whole number. Cached is what callers repeat.
// Times, greater counts and amounts of money are new in most calls; money in a row of a group is a budget.
func integer(p spec.Field, text string, row bool) string {
	if p.Kind == spec.KindTime || p.Kind == spec.KindMicros && !row || p.Kind == spec.KindCount && p.Max > maxCached {
		return fmt.Sprintf("rlfunc_whole(%s)", text)
	}
	return fmt.Sprintf("rlfunc_recent[%s] or rlfunc_known(%s)", text, text)
}

// outside is the Lua condition under which such a number is refused.
func outside(name string, p spec.Field) string {
	return fmt.Sprintf("not %s or %s < %d or %s > %d", name, name, p.Min, name, p.Max)
}

// absent declares an optional argument with what its absence means.
func absent(p spec.Field, target string) string {
	switch {
	case p.Kind == spec.KindBool:
		return target + " = false"
	case p.Default != nil && p.Kind == spec.KindEnum:
		return target + " = '" + p.Values[*p.Default] + "'"
	case p.Default != nil:
		return target + " = " + strconv.FormatInt(*p.Default, 10)
	}
	return target
}

// group decodes a count and that many rows into an array of tables.
func (e *entryWriter) group(g spec.Field) {
	refusal := quote("RLARG " + must(g, g.Name))
	e.next()
	e.printf("  local rlfunc_rows = %s\n", integer(g, "args[rlfunc_arg]", false))
	e.printf("  if %s then\n    return {err = %s}\n  end\n", outside("rlfunc_rows", g), refusal)
	keys := g.Keys()
	values := slices.DeleteFunc(slices.Clone(g.Fields), func(f spec.Field) bool { return f.Kind == spec.KindKey })
	e.printf("  if #args < rlfunc_arg + rlfunc_rows * %d or #keys < rlfunc_key + rlfunc_rows * %d then\n", len(values), len(keys))
	e.printf("    return {err = 'RLARG %s must be called with as many keys and arguments as its groups have rows'}\n  end\n", e.fn.Name)
	e.printf("  local %s = {%s}\n", g.Lua, strings.Join(slices.Repeat([]string{"nil"}, spareRows), ", "))
	e.printf("  for rlfunc_row = 1, rlfunc_rows do\n")
	e.indent, e.row = "    ", true
	key, arg := 0, 0
	cells := make([]string, len(g.Fields))
	for i, f := range g.Fields {
		if f.Kind == spec.KindKey {
			key++
			cells[i] = fmt.Sprintf("%s = keys[rlfunc_key + %d]", f.Lua, key)
			continue
		}
		arg++
		text := fmt.Sprintf("string.format('RLARG %s.%%d.%%s', rlfunc_row - 1, %s)", g.Name, quote(must(f, f.Name)))
		e.value(f, "local in_"+f.Lua, fmt.Sprintf("args[rlfunc_arg + %d]", arg), text)
		cells[i] = fmt.Sprintf("%s = in_%s", f.Lua, f.Lua)
	}
	e.indent, e.row = "  ", false
	// One constructor makes the row in its size; field by field it would grow four times.
	e.printf("    %s[rlfunc_row] = {%s}\n", g.Lua, strings.Join(cells, ", "))
	e.printf("    rlfunc_key, rlfunc_arg = rlfunc_key + %d, rlfunc_arg + %d\n", len(keys), len(values))
	e.printf("  end\n")
}

// must is the sentence of a refusal, as `limit must be a whole number from 1 to 10`.
func must(p spec.Field, name string) string { return name + " must " + Must(p) }

// Must says what a legal value is: "be a whole number from 1 to 10".
func Must(p spec.Field) string {
	switch p.Kind {
	case spec.KindCount:
		return fmt.Sprintf("be a whole number from %d to %d", p.Min, p.Max)
	case spec.KindMicros:
		return fmt.Sprintf("be from %d to %d micros", p.Min, p.Max)
	case spec.KindDuration:
		return fmt.Sprintf("be from %d to %d microseconds", p.Min, p.Max)
	case spec.KindTime:
		return fmt.Sprintf("be from %d to %d microseconds since 1970", p.Min, p.Max)
	case spec.KindBool:
		return "be 1 or 0"
	case spec.KindText:
		return fmt.Sprintf("be %d to %d bytes", p.Min, p.Max)
	case spec.KindEnum:
		return "be one of " + strings.Join(p.Values, ", ")
	case spec.KindGroup, spec.KindPacked:
		return fmt.Sprintf("have %d to %d rows", p.Min, p.Max)
	}
	return "be a key"
}

// quote writes a Lua string literal of printable ASCII; anything else is escaped by its decimal code.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, c := range []byte(s) {
		switch {
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < 32 || c > 126:
			fmt.Fprintf(&b, "\\%03d", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}
