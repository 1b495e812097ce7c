package bundle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

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
func (e *entryWriter) reply() {
	values := make([]string, len(e.fn.Results))
	for i, r := range e.fn.Results {
		values[i] = sent(r, result(r))
		if r.Kind == spec.KindGroup {
			values[i] = "rows_" + r.Lua
			e.printf("  local %s = rlfunc.none\n  if #%s > 0 then\n    %[1]s = {%[3]s}\n", values[i], result(r), strings.Join(slices.Repeat([]string{"nil"}, spareRows), ", "))
			e.printf("    for i = 1, #%s do\n      local row = %s[i]\n", result(r), result(r))
			cells := make([]string, len(r.Fields))
			for j, c := range r.Fields {
				cells[j] = sent(c, "row."+c.Lua)
			}
			e.printf("      %s[i] = {%s}\n    end\n  end\n", values[i], strings.Join(cells, ", "))
		}
	}
	if len(values) == 1 && e.fn.Results[0].Kind != spec.KindGroup {
		e.printf("  return %s\n", values[0])
		return
	}
	e.printf("  return {%s}\n", strings.Join(values, ", "))
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

// spareRows is the number of rows to preallocate: growing a table costs more than a large one.
const spareRows = 2
