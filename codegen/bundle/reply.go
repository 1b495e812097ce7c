package bundle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// call writes the call of the author's function, and the reply unless it failed.
func (e *entryWriter) call(args []string) {
	names := make([]string, len(e.fn.Results))
	for i, r := range e.fn.Results {
		names[i] = result(r)
	}
	if len(names) == 1 {
		names = append(names, "rlfunc_refusal")
	}
	e.printf("  local rlfunc_ok, %s = pcall(%s, %s)\n", strings.Join(names, ", "), e.fn.Name, strings.Join(args, ", "))
	e.printf("  if rlfunc_ok then\n")
	e.printf("    if %s == nil then\n      return %s\n    end\n", names[0], names[1])
	e.reply()
	e.printf("  end\n")
	e.printf("  local reply, raise = rlfunc_failed(%s, keys, %s)\n", names[0], e.keyParts())
	e.printf("  if reply then\n    return reply\n  end\n")
	// The server tells the line that raises: the best that can be said of it is the function's own.
	e.section(e.fn.File, e.fn.Line)
	e.printf("  error(raise, 0)\n")
	e.section("", 0)
}

// result is the local that holds a result; the prefix keeps it apart from the parameters.
func result(f spec.Field) string { return "out_" + f.Lua }

// reply writes the flat array that the client decodes, unless a number in it is one that a reply cannot carry.
func (e *entryWriter) reply() {
	first := slices.IndexFunc(e.fn.Results, func(f spec.Field) bool { return f.Kind == spec.KindGroup })
	e.printf("    local rlfunc_wrong\n")
	for _, r := range e.fn.Results {
		e.bounds(r, result(r), r.Name, "    ")
	}
	reply := "reply"
	if first >= 0 {
		e.groupedReply(first)
	} else {
		values := make([]string, len(e.fn.Results))
		for i, r := range e.fn.Results {
			values[i] = encode(r, result(r))
		}
		reply = "{" + strings.Join(values, ", ") + "}"
	}
	e.printf("    if not rlfunc_wrong then\n      return %s\n    end\n", reply)
	e.printf("    %s = rlfunc_wrong .. ' must be a whole number from 0 to %s'\n", result(e.fn.Results[0]), maxInt)
}

// spareRows is for how many rows of a group there is room from the start: a table that grows costs more than one that is
// large.
const spareRows = 2

// groupedReply writes a reply with groups, each a count and the fields of that many rows.
func (e *entryWriter) groupedReply(first int) {
	var head []string
	for _, r := range e.fn.Results[:first] {
		head = append(head, encode(r, result(r)))
	}
	head = append(head, "#"+result(e.fn.Results[first]))
	at := len(head)
	for range spareRows * len(e.fn.Results[first].Fields) {
		head = append(head, "nil")
	}
	e.printf("    local reply, rlfunc_at = {%s}, %d\n", strings.Join(head, ", "), at)
	for i, r := range e.fn.Results[first:] {
		if i > 0 {
			value := "#" + result(r)
			if r.Kind != spec.KindGroup {
				value = encode(r, result(r))
			}
			e.printf("    rlfunc_at = rlfunc_at + 1\n    reply[rlfunc_at] = %s\n", value)
		}
		if r.Kind == spec.KindGroup {
			e.rows(r)
		}
	}
}

// rows writes the rows of one group into the reply.
func (e *entryWriter) rows(g spec.Field) {
	e.printf("    for i = 1, #%s do\n      local row = %s[i]\n", result(g), result(g))
	for i, f := range g.Fields {
		value := "row." + f.Lua
		if f.Kind.Integer() {
			value = result(f)
			e.printf("      local %s = row.%s\n", value, f.Lua)
			e.bounds(f, value, g.Name+"."+f.Name, "      ")
		}
		e.printf("      reply[rlfunc_at + %d] = %s\n", i+1, encode(f, value))
	}
	e.printf("      rlfunc_at = rlfunc_at + %d\n    end\n", len(g.Fields))
}

// bounds writes the check of one number: Redis would send NaN, infinities and what is above 2^53 as some other number.
func (e *entryWriter) bounds(f spec.Field, value, name, indent string) {
	if f.Kind.Integer() {
		e.printf("%sif not (%s >= 0 and %s <= %s) then\n%s  rlfunc_wrong = 'result %s'\n%send\n", indent, value, value, maxInt, indent, name, indent)
	}
}

func encode(f spec.Field, name string) string {
	if f.Kind == spec.KindBool {
		return fmt.Sprintf("%s and 1 or 0", name)
	}
	return name
}
