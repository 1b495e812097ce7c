package contract

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// realCalls is how many calls On makes for each function that it is about.
const realCalls = 400

// On calls the functions that the embedded engine could not run to their end, on a server that has the library and whose database is the run's
// own: its keys are deleted. The clock stands or goes as it will, and only replies, errors and keys are seen. What is wrong is added to Findings.
func (r *Report) On(server Redis) {
	w := newWatch(r.libs)
	c := &checker{watch: w, server: newServer(server, nil), libs: r.libs, drawer: newDrawer(r.Seed, r.libs, w.fills), known: map[[2]string]bool{}}
	for c.calls < realCalls*len(r.lack) {
		steps := c.sequence(false)
		for i := range steps {
			steps[i].Advance = 0
		}
		c.try(steps, Options{})
	}
	c.server.do("FLUSHDB")
	for _, f := range c.found {
		if slices.Contains(r.lack, f.Function) {
			r.Findings = append(r.Findings, f)
		}
	}
}

// answered makes of a reply what the observer of an embedded server would have seen.
func (w *watch) answered(op *call, reply any) {
	w.lib, w.fn = op.lib, op.function
	err, failed := reply.(error)
	code, _, _ := strings.Cut(fmt.Sprint(err), " ")
	switch declared := slices.ContainsFunc(op.Errors, func(e spec.Error) bool { return e.Code == code }); {
	case failed && code == "RLARG": // of the generated checks, or as if
	case failed && (declared || code == "RLSTATE"):
		w.values = []any{true, nil, map[any]any{"err": err.Error()}}
	case failed:
		w.values = []any{false, err.Error()}
	case len(op.Results) == 1 && op.Results[0].Kind != spec.KindGroup:
		w.values = []any{true, returned(op.Results[0], reply)}
	default:
		w.values = []any{true}
		results := nested(op.Results, reply)
		for i, f := range op.Results[:len(results)] {
			w.values = append(w.values, returned(f, results[i]))
		}
	}
}

// nested splits a reply into the results that it has, each group into an array of rows. A group is the number of its rows and, if there are
// some, that of the fields in each, before the fields.
func nested(of []spec.Field, reply any) (results []any) {
	left, _ := reply.([]any)
	for _, f := range of {
		if len(left) == 0 {
			break
		}
		first := left[0]
		left = left[1:]
		if f.Kind == spec.KindGroup {
			rows := []any{}
			if n, _ := first.(int64); n > 0 && len(left) > 0 {
				width, _ := left[0].(int64)
				most := int64(len(left))
				for row := range slices.Chunk(left[1:min(1+n*width, most)], int(max(width, 1))) {
					rows = append(rows, row)
				}
				left = left[min(1+n*width, most):]
			}
			first = rows
		}
		results = append(results, first)
	}
	return results
}

// returned is a result of a reply as Lua has returned it.
func returned(f spec.Field, v any) any {
	switch v := v.(type) {
	case int64:
		if f.Kind == spec.KindBool {
			return v == 1
		}
		return float64(v)
	case string:
		if n, err := strconv.ParseFloat(v, 64); err == nil && f.Kind == spec.KindFloat {
			return n
		}
	case []any: // the rows of a group, or the fields of one
		out := map[any]any{}
		for i, e := range v {
			if row, ok := e.([]any); ok {
				cells := map[any]any{}
				for j, c := range row {
					cells[f.Fields[j].Lua] = returned(f.Fields[j], c)
				}
				e = cells
			}
			out[float64(i+1)] = e
		}
		return out
	}
	return v
}
