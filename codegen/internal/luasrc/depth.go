package luasrc

import (
	"reflect"

	"github.com/yuin/gopher-lua/ast"
)

// depthLimit bounds how deep statements and expressions nest, so that every walk over the tree ends with stack to spare.
// Lua 5.1 itself refuses 200 levels of most kinds, of which groupLimit are for parentheses around an expression: the tree has none.
const (
	depthLimit = 170
	groupLimit = 20
)

// tooDeep returns the line at which the tree is deeper than the limit, or 0.
func tooDeep(chunk []ast.Stmt) (line int) {
	depth := 0
	var node func(v reflect.Value)
	node = func(v reflect.Value) {
		before := depth
		if holder, ok := v.Interface().(ast.PositionHolder); ok {
			if depth++; depth > depthLimit && line == 0 {
				line = max(holder.Line(), 1)
			}
		}
		if line == 0 {
			Each(v.Elem(), node)
		}
		depth = before
	}
	Each(reflect.ValueOf(chunk), node)
	return line
}
