package rule

import (
	"math"
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// What Repair asks of an argument, beside a value.
type (
	// Present is any value of an argument that the call omits.
	Present struct{}
	// Other is any value but the one that it has.
	Other struct{}
)

// Repair says which argument to change, and to what, so that an expression that does not hold comes nearer to holding: nil is to omit it, and
// Rows are how many rows it needs. Where there are several ways, intn chooses one. The path is empty where it knows none.
func (e *Expression) Repair(get func(path string) any, intn func(n int) int) (path string, to any) {
	return e.repair(e.root, true, get, intn)
}

func (e *Expression) repair(x ast.Expr, want bool, get func(path string) any, intn func(n int) int) (path string, to any) {
	if path, ok := e.at[x]; ok {
		is := get(path)
		if _, isBool := is.(bool); isBool {
			return path, want
		}
		if want {
			return path, Present{}
		}
		return path, nil
	}
	switch x := x.(type) {
	case *ast.UnaryNotOpExpr:
		return e.repair(x.Expr, !want, get, intn)
	case *ast.LogicalOpExpr:
		sides := []ast.Expr{x.Lhs, x.Rhs}
		if (x.Operator == "and") == want { // it takes both
			sides = slices.DeleteFunc(sides, func(side ast.Expr) bool { return truth(e.eval(side, get)) == want })
		}
		if len(sides) > 0 {
			return e.repair(sides[intn(len(sides))], want, get, intn)
		}
	case *ast.RelationalOpExpr:
		equal := x.Operator == "=="
		if !equal && x.Operator != "~=" {
			return e.solve(x, want, get, intn)
		}
		sides := [2]ast.Expr{x.Lhs, x.Rhs}
		first := intn(2)
		for i := range sides {
			side, other := sides[(first+i)%2], e.eval(sides[(first+i+1)%2], get)
			path, isField := e.at[side]
			switch is := other.(type) {
			case float64:
				return e.solve(x, want, get, intn)
			case bool:
				return e.repair(side, is == (equal == want), get, intn)
			case nil, string:
				switch {
				case !isField:
				case equal == want:
					return path, other
				case other == nil:
					return path, Present{}
				default:
					return path, Other{}
				}
			}
		}
	}
	return "", nil
}

// solve makes a comparison of numbers true, or false, by one of the numbers in it: what is compared is a straight line in most.
func (e *Expression) solve(x *ast.RelationalOpExpr, want bool, get func(path string) any, intn func(n int) int) (path string, to any) {
	var paths []string
	var visit func(x ast.Expr)
	visit = func(x ast.Expr) {
		if path, ok := e.at[x]; ok {
			switch get(path).(type) {
			case float64, Rows, nil:
				paths = append(paths, path)
			}
		}
		switch x := x.(type) {
		case *ast.ArithmeticOpExpr:
			visit(x.Lhs)
			visit(x.Rhs)
		case *ast.LogicalOpExpr:
			visit(x.Lhs)
			visit(x.Rhs)
		case *ast.UnaryMinusOpExpr:
			visit(x.Expr)
		case *ast.UnaryLenOpExpr:
			visit(x.Expr)
		}
	}
	visit(x.Lhs)
	visit(x.Rhs)
	if len(paths) == 0 {
		return "", nil
	}
	path = paths[intn(len(paths))]
	is := get(path)
	if is == nil {
		return path, Present{}
	}
	_, isRows := is.(Rows)
	left := func(n float64) float64 { // of the left side over the right one
		with := func(p string) any {
			switch {
			case p != path:
				return get(p)
			case isRows:
				return Rows(n)
			}
			return n
		}
		a, ok := e.eval(x.Lhs, with).(float64)
		b, also := e.eval(x.Rhs, with).(float64)
		if !ok || !also {
			return math.NaN()
		}
		return a - b
	}
	slope := left(1) - left(0)
	if slope == 0 || math.IsNaN(slope) {
		return "", nil
	}
	root := -left(0) / slope
	step := []float64{0, 0, 1, 1, 2, 1000, 1_000_000, 3_600_000_000}[intn(8)]
	up := slope > 0
	switch x.Operator {
	case "<", "<=":
		up = !up
	case "==", "~=":
		up, step = true, 0
		if want != (x.Operator == "==") {
			step = 1
		}
	}
	if up == want || x.Operator == "==" || x.Operator == "~=" {
		root = math.Ceil(root) + step
	} else {
		root = math.Floor(root) - step
	}
	if isRows {
		return path, Rows(root)
	}
	return path, root
}
