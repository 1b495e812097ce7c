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

// tooDeep returns the line at which the tree is deeper than the limit, or 0. It uses reflection, to visit every
// kind of node.
func tooDeep(chunk []ast.Stmt) int {
	for _, stmt := range chunk {
		if line := deeper(reflect.ValueOf(stmt), 0); line > 0 {
			return line
		}
	}
	return 0
}

func deeper(v reflect.Value, depth int) int {
	switch v.Kind() {
	case reflect.Interface:
		return deeper(v.Elem(), depth)
	case reflect.Pointer:
		if v.IsNil() {
			return 0
		}
		if node, ok := v.Interface().(ast.PositionHolder); ok {
			if depth++; depth > depthLimit {
				return max(node.Line(), 1)
			}
		}
		return deeper(v.Elem(), depth)
	case reflect.Slice:
		for i := range v.Len() {
			if line := deeper(v.Index(i), depth); line > 0 {
				return line
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !v.Field(i).CanInterface() {
				continue
			}
			if line := deeper(v.Field(i), depth); line > 0 {
				return line
			}
		}
	}
	return 0
}
