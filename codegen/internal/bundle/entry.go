package bundle

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// maxInt is spec.MaxInt as a Lua literal.
var maxInt = strconv.FormatInt(spec.MaxInt, 10)

// An entryWriter writes the entry of one function: decoding, the call, the reply.
type entryWriter struct {
	*writer
	fn       *spec.Function
	indent   string
	row      bool   // inside a group
	end      string // of an argument that may be left out: the condition that it is there
	declared bool   // whether the local of the argument is there with what its absence means
	packed   bool   // inside a row of a packed group
	function string // the local that holds the author's function
	commands string // what the function may run, as the elements of a Lua table
}

func writeEntry(w *writer, fn *spec.Function, commands []string) {
	e := &entryWriter{writer: w, fn: fn, indent: "  "}
	for i, c := range commands {
		if commands[i] = quote(strings.ToLower(c)); strings.HasPrefix(c, "PUBLISH|") {
			commands[i] = quote("publish" + strings.TrimPrefix(c, "PUBLISH"))
		}
	}
	e.commands = strings.Join(commands, ", ")
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
	e.enums(spec.Sent(fn.Results), "")
	w.printf("local rlfunc_unproven = redis['register_function'] and 1 or 0 -- calls that ask for the permissions; a script asks for none\n")
	e.function = fn.Name
	if slices.ContainsFunc(fn.Params, func(p spec.Field) bool { return p.Lua == fn.Name }) {
		e.function = "rlfunc_function" // the argument hides the other name
		w.printf("local %s = %s\n", e.function, fn.Name)
	}
	w.printf("\n-- Joins %s to Redis.\n", fn.Name)
	w.printf("local function %s(keys, args)\n", fn.Server)
	e.arity()
	e.subject()
	call := e.params()
	e.rules()
	e.call(call)
	w.printf("end\n")
	w.printf("redis.register_function{function_name = '%s', callback = %s, description = %s", fn.Server, fn.Server, quote(fn.Summary))
	if len(fn.Flags) > 0 {
		w.printf(", flags = {%s}", "'"+strings.Join(fn.Flags, "', '")+"'")
	}
	w.printf("}\n")
}

// openRest begins the block for calls that send more than the usual arguments. It does nothing if only few arguments are
// optional.
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

// usual returns the number of arguments that most calls send.
func (e *entryWriter) usual() int { return max(len(args(e.fn))-e.fn.Omissible(), 1) }

// rest reports whether arguments after the usual ones are decoded in a block of their own.
func (e *entryWriter) rest() bool {
	list := args(e.fn)
	return len(list)-e.usual() >= 2 && !slices.ContainsFunc(list, func(p spec.Field) bool { return p.Kind.Repeated() })
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
		case spec.KindGroup, spec.KindList:
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

// subject writes the check of the first key: an empty hash tag would be shared by all callers without a name, and on a
// cluster the keys of a call would not share a slot.
func (e *entryWriter) subject() {
	e.printf("  if keys[1]:find('{}', 1, true) then\n    return {err = 'RLARG %s must not be empty'}\n  end\n", spec.Subject)
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// params writes the decoding of keys and arguments, and returns the expressions for the call.
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
			if !keyed && slices.ContainsFunc(args(e.fn)[arg-1:], func(p spec.Field) bool { return len(p.Keys()) > 0 }) {
				e.printf("  local rlfunc_key = %d\n", len(e.fn.Keys()))
				keyed = true
			}
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
		case p.Kind.Repeated():
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

// declareRest declares the remaining arguments with their defaults.
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
		for _, k := range p.Keys() {
			names, values = append(names, p.KeyName(k)), append(values, "rlfunc_none")
		}
	}
	for len(values) > 1 && values[len(values)-1] == "nil" {
		values = values[:len(values)-1]
	}
	e.printf("  local %s = %s\n", strings.Join(names, ", "), strings.Join(values, ", "))
}

func args(fn *spec.Function) []spec.Field {
	return slices.DeleteFunc(slices.Clone(fn.Params), func(p spec.Field) bool { return p.Kind == spec.KindKey })
}

// next moves to the next argument if positions are known only at run time.
func (e *entryWriter) next() {
	e.printf("%srlfunc_arg = rlfunc_arg + 1\n", e.indent)
	if e.end != "" {
		e.end = "rlfunc_args >= rlfunc_arg and "
		return
	}
	e.printf("%sif not args[rlfunc_arg] then\n", e.indent)
	e.printf("%s  return {err = 'RLARG %s must be called with as many keys and arguments as its groups have rows'}\n%send\n", e.indent, e.fn.Name, e.indent)
}
