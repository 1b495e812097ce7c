package bundle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// An entryWriter writes the entry of one function: a line per argument, the rules, the call and the reply.
type entryWriter struct {
	*writer
	fn *spec.Function
}

func writeEntry(w *writer, fn *spec.Function) {
	e := &entryWriter{writer: w, fn: fn}
	for _, p := range args(fn) {
		e.rowsOf(p)
	}
	for _, g := range args(fn) {
		for _, k := range g.Keys() {
			w.printf("local rlfunc_keys_of_%s_%s = {} -- lists by their length: every call fills one again\n", g.Lua, k.Lua)
		}
	}
	e.repeated()
	e.types()
	function := fn.Name
	if slices.ContainsFunc(fn.Params, func(p spec.Field) bool { return p.Lua == fn.Name }) {
		function = "rlfunc_function" // the argument hides the other name
		w.printf("local %s = %s\n", function, fn.Name)
	}
	w.printf("\n-- Joins %s to Redis.\nlocal function %s(keys, args)\n", fn.Name, fn.Server)
	e.arity()
	e.params()
	call := e.keys()
	e.rules()
	e.call(function, call)
	w.printf("end\n")
	w.printf("redis.register_function{\n  function_name = '%s', description = %s,\n", fn.Server, quote(fn.Summary))
	if len(fn.Flags) > 0 {
		w.printf("  flags = {'%s'},\n", strings.Join(fn.Flags, "', '"))
	}
	w.printf("  callback = function(keys, args)\n    local rlfunc_ok, reply = pcall(%s, keys, args)\n", fn.Server)
	w.printf("    if rlfunc_ok and reply then\n      return reply\n    end\n")
	w.printf("    local answer, raise = rlfunc.failed(rlfunc_ok, reply, keys, rlfunc_types)\n    return answer or error(raise, 0)\n  end,\n}\n")
}

func args(fn *spec.Function) []spec.Field {
	return slices.DeleteFunc(slices.Clone(fn.Params), func(p spec.Field) bool { return p.Kind == spec.KindKey })
}

// types writes the table of the Redis types of keys by the first word of their suffix.
func (e *entryWriter) types() {
	var all []string
	e.fn.EachKey(func(k spec.Field, words []string) {
		for _, word := range words {
			if one := fmt.Sprintf("[%s] = '%s'", quote(word), k.Redis); !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
	})
	e.printf("local rlfunc_types = {%s}\n", strings.Join(all, ", "))
}

// arity writes the check of the numbers of keys and arguments.
func (e *entryWriter) arity() {
	always, conditional, several := split(e.fn.Keys())
	most, mostKeys := len(args(e.fn)), len(always)+len(conditional)
	for _, k := range several {
		mostKeys += int(k.Max)
	}
	least := len(always)
	for _, p := range args(e.fn) {
		mostKeys += len(p.Keys()) * int(p.Max)
		least += len(p.Keys()) * int(p.Min)
	}
	leastArgs := most - e.fn.Omissible()
	var outside []string
	bounds := func(count string, least, most int) {
		if least == most {
			outside = append(outside, fmt.Sprintf("%s ~= %d", count, most))
			return
		}
		if least > 0 {
			outside = append(outside, fmt.Sprintf("%s < %d", count, least))
		}
		outside = append(outside, fmt.Sprintf("%s > %d", count, most))
	}
	bounds("#keys", least, mostKeys)
	bounds("#args", leastArgs, most)
	e.printf("  if %s then\n", strings.Join(outside, " or "))
	e.printf("    rlfunc.arity('%s', %d, %d, %d, %d)\n  end\n", e.fn.Name, least, mostKeys, leastArgs, most)
	e.printf("  rlfunc.subject(keys[1])\n")
}

// repeats reports whether the values of an argument are kept: amounts and times differ from call to call.
func repeats(p spec.Field) bool { return p.Kind == spec.KindCount || p.Kind == spec.KindDuration }

// repeated writes the tables of arguments whose values are kept.
func (e *entryWriter) repeated() {
	for _, p := range args(e.fn) {
		if repeats(p) {
			e.printf("local rlfunc_%s = rlfunc.repeated(rlfunc.%s, '%s', %d, %d)\n", p.Lua, p.Kind, p.Name, p.Min, p.Max)
		}
	}
}

// params writes a line for each argument. A call with the first argument and those that it must give skips the lines of all others.
func (e *entryWriter) params() {
	all := args(e.fn)
	usual := min(max(len(all)-e.fn.Omissible(), 1), len(all))
	for i, p := range all[:usual] {
		e.printf("  local %s = %s\n", p.Lua, argument(p, i+1))
	}
	if usual == len(all) {
		return
	}
	var names, absent []string
	for _, p := range all[usual:] {
		names, absent = append(names, p.Lua), append(absent, omitted(p))
	}
	e.printf("  local %s = %s\n", strings.Join(names, ", "), strings.Join(absent, ", "))
	e.printf("  if #args > %d then\n", usual)
	for i, p := range all[usual:] {
		e.printf("    %s = %s\n", p.Lua, argument(p, usual+i+1))
	}
	e.printf("  end\n")
}

// argument returns the expression that reads an argument.
func argument(p spec.Field, at int) string {
	word := fmt.Sprintf("args[%d]", at)
	if p.Kind == spec.KindGroup {
		read := fmt.Sprintf("rlfunc_%s(%s)", p.Lua, word)
		if p.Min == 0 {
			return fmt.Sprintf("(%s or '') ~= '' and %s or rlfunc.none", word, read)
		}
		return read
	}
	if !repeats(p) {
		return value(p, word, word)
	}
	read := fmt.Sprintf("rlfunc_%s.known[%s] or rlfunc.learn(rlfunc_%[1]s, %[2]s)", p.Lua, word)
	if p.Optional {
		return fmt.Sprintf("(%s or '') ~= '' and (%s) or %s", word, read, omitted(p))
	}
	return read
}

// omitted returns the value of an argument that a call omits.
func omitted(p spec.Field) string {
	absent, _ := p.DefaultWord()
	switch {
	case p.Kind == spec.KindGroup:
		return "rlfunc.none"
	case p.Kind == spec.KindBool:
		return fmt.Sprint(p.TrueByDefault())
	case absent == "":
		return "nil"
	case p.Kind == spec.KindEnum || p.Kind == spec.KindText:
		return quote(absent)
	}
	return absent
}

// value returns the expression that checks and reads a word, which is text as it comes or of a cell.
func value(p spec.Field, word, text string) string {
	read := ""
	switch p.Kind {
	case spec.KindBool:
		read = fmt.Sprintf("rlfunc.bool('%s', %s)", p.Name, word)
	case spec.KindEnum:
		read = fmt.Sprintf("rlfunc.enum('%s', %s, '%s')", p.Name, word, strings.Join(p.Values, ", "))
	case spec.KindFloat:
		least, most := "-math.huge", "math.huge"
		if p.Min != spec.NoMin {
			least = fmt.Sprint(p.Min)
		}
		if p.Max != spec.NoMax {
			most = fmt.Sprint(p.Max)
		}
		read = fmt.Sprintf("rlfunc_signed.float('%s', %s, %s, %s)", p.Name, word, least, most)
	case spec.KindInt:
		read = fmt.Sprintf("rlfunc_signed.int('%s', %s, %d, %d)", p.Name, word, p.Min, p.Max)
	case spec.KindText:
		read = fmt.Sprintf("rlfunc.text('%s', %s, %d, %d)", p.Name, text, p.Min, p.Max)
	default:
		read = fmt.Sprintf("rlfunc.%s('%s', %s, %d, %d)", p.Kind, p.Name, word, p.Min, p.Max)
	}
	if !p.Optional {
		return read
	}
	switch {
	case p.Kind == spec.KindBool && p.TrueByDefault():
		return fmt.Sprintf("(%s or '') == '' or %s", word, read)
	case p.Kind == spec.KindBool:
		return fmt.Sprintf("(%s or '') ~= '' and %s", word, read)
	}
	return fmt.Sprintf("(%s or '') ~= '' and %s or %s", word, read, omitted(p))
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

// keys writes the locals of keys whose places depend on arguments, and returns the expressions for the call.
func (e *entryWriter) keys() (call []string) {
	always, conditional, several := split(e.fn.Keys())
	counted := len(conditional) > 0 || len(several) > 0 || slices.ContainsFunc(e.fn.Params, func(p spec.Field) bool { return len(p.Keys()) > 0 })
	if counted {
		e.printf("  local rlfunc_key = %d\n", len(always))
	}
	for _, k := range conditional {
		with, _ := e.fn.Arg(k.With)
		given := with.Lua
		if with.Kind == spec.KindGroup {
			given = "#" + with.Lua + " > 0"
		}
		e.printf("  local %s\n  if %s then\n    rlfunc_key = rlfunc_key + 1\n    %s = keys[rlfunc_key]\n  end\n", k.Lua, given, k.Lua)
	}
	for _, g := range args(e.fn) {
		all := g.Keys()
		if len(all) == 0 {
			continue
		}
		names := make([]string, len(all))
		for i, k := range all {
			names[i] = g.KeyName(k)
		}
		e.printf("  local %s = %s\n  if #%s > 0 then\n", strings.Join(names, ", "), strings.Join(slices.Repeat([]string{"rlfunc.none"}, len(all)), ", "), g.Lua)
		for i, k := range all {
			e.printf("    %s = rlfunc.row_keys('%s', rlfunc_keys_of_%s_%s, keys, rlfunc_key + %d, %d, #%s)\n", names[i], g.Name, g.Lua, k.Lua, i+1, len(all), g.Lua)
		}
		each := ""
		if len(all) > 1 {
			each = fmt.Sprintf(" * %d", len(all))
		}
		e.printf("    rlfunc_key = rlfunc_key + #%s%s\n  end\n", g.Lua, each)
	}
	for _, k := range several {
		e.printf("  local %s = #keys > rlfunc_key and rlfunc.other_keys('%s', keys, rlfunc_key, %d) or rlfunc.none\n", k.Lua, k.Name, k.Max)
		e.printf("  rlfunc_key = rlfunc_key + #%s\n", k.Lua)
	}
	if counted {
		e.printf("  if #keys ~= rlfunc_key then\n    rlfunc.other_number('%s', rlfunc_key)\n  end\n", e.fn.Name)
	}
	n := 0
	for _, p := range e.fn.Params {
		switch {
		case p.Kind == spec.KindKey && p.With == "" && !p.Several:
			n++
			call = append(call, fmt.Sprintf("keys[%d]", n))
		default:
			call = append(call, p.Lua)
		}
		for _, k := range p.Keys() {
			call = append(call, p.KeyName(k))
		}
		if p.Prepare && slices.ContainsFunc(p.Keys(), func(k spec.Field) bool { return k.SuffixKind != "" }) {
			e.printf("  rlfunc_types.rows = %s\n", p.Lua)
		}
	}
	return call
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

// call writes the call of the author's function, and the reply.
func (e *entryWriter) call(function string, args []string) {
	names := make([]string, len(e.fn.Results))
	for i, r := range e.fn.Results {
		names[i] = result(r)
	}
	if len(names) == 1 {
		names = append(names, "rlfunc_refusal")
	}
	e.printf("  local %s = %s(%s)\n", strings.Join(names, ", "), function, strings.Join(args, ", "))
	e.printf("  if %s == nil then\n    return %s\n  end\n", names[0], names[1])
	e.reply()
}

// result names the local that holds a result; the prefix distinguishes it from parameters.
func result(f spec.Field) string { return "out_" + f.Lua }

// reply writes the return of the results in header order, which docs/reference/wire.md describes. It does not check them: luatest and
// `vet --run` find a result that is not what the header says.
//
// A reply is one table, whatever groups it has: Redis asks each table of a reply for seven names before it reads it, which takes as long as
// ten numbers.
func (e *entryWriter) reply() {
	results := e.fn.Results
	first := slices.IndexFunc(results, func(r spec.Field) bool { return r.Kind == spec.KindGroup })
	if first < 0 {
		first = len(results)
	}
	values := make([]string, 0, len(results))
	for _, r := range results[:first] {
		values = append(values, sent(r, result(r)))
	}
	switch {
	case len(results) == 1 && first == 1:
		e.printf("  return %s\n", values[0])
		return
	case first == len(results):
		e.printf("  return {%s}\n", strings.Join(values, ", "))
		return
	}
	for _, r := range results[first:] {
		values = append(values, slices.Repeat([]string{"nil"}, 1+spareRows*len(r.Fields))...)
	}
	e.printf("  local reply = {%s}\n  local last = %d\n", strings.Join(values, ", "), first)
	for _, r := range results[first:] {
		if r.Kind != spec.KindGroup {
			e.printf("  last = last + 1\n  reply[last] = %s\n", sent(r, result(r)))
			continue
		}
		e.printf("  last = last + 1\n  reply[last] = #%s\n  if #%[1]s > 0 then\n    last = last + 1\n    reply[last] = %d\n", result(r), len(r.Fields))
		e.printf("    for i = 1, #%s do\n      local row = %[1]s[i]\n", result(r))
		for i, c := range r.Fields {
			e.printf("      reply[last + %d] = %s\n", i+1, sent(c, "row."+c.Lua))
		}
		e.printf("      last = last + %d\n    end\n  end\n", len(r.Fields))
	}
	e.printf("  return reply\n")
}

// sent returns the Lua expression that is sent for a result, which is not a group.
func sent(f spec.Field, value string) string {
	switch f.Kind {
	case spec.KindBool:
		return value + " and 1 or 0"
	case spec.KindFloat: // Redis would cut its fraction
		return fmt.Sprintf("rlfunc_signed.text(%s)", value)
	}
	return value
}

// spareRows is the number of rows of each group that a reply has room for at first: growing a table costs more than a large one.
const spareRows = 2
