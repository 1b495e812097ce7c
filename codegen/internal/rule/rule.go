// Package rule reads what a @must row asks: a Lua expression over the arguments of a call.
package rule

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"

	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

// An Expression is read and checked against the fields that it may name.
type Expression struct {
	root   ast.Expr
	scope  []spec.Field
	group  string              // whose rows it is about
	prefix string              // of the paths, where the scope is a row: "limits."
	paths  []string            // that it names, as they come
	at     map[ast.Expr]string // the paths, where they stand
}

// An Error is a finding about the word At of an expression, or about all of it.
type Error struct{ At, Message string }

func (e *Error) Error() string { return e.Message }

func refuse(at, format string, args ...any) error { return &Error{at, fmt.Sprintf(format, args...)} }

// Parse reads an expression over arguments, or over the fields of a row of the group.
func Parse(text string, scope []spec.Field, group string) (*Expression, error) {
	chunk, err := parse.Parse(strings.NewReader("return "+text), "")
	if err != nil || len(chunk) != 1 {
		return nil, refuse("", "%q is not one expression of Lua", text)
	}
	ret, ok := chunk[0].(*ast.ReturnStmt)
	if !ok || len(ret.Exprs) != 1 {
		return nil, refuse("", "%q is not one expression of Lua", text)
	}
	e := &Expression{root: ret.Exprs[0], scope: scope, at: map[ast.Expr]string{}}
	if group != "" {
		e.prefix, e.group = group+".", group
	}
	if _, err := e.check(e.root); err != nil {
		return nil, err
	}
	if len(e.paths) == 0 {
		return nil, refuse("", "%q names no argument", text)
	}
	for _, path := range e.paths {
		if e.group != "" && !strings.HasPrefix(path, e.group+".") {
			return nil, refuse(path, "a rule about the rows of %s names only their fields: check %s in the function", e.group, path)
		}
	}
	return e, nil
}

// Of reads a rule of a function whose header had no findings.
func Of(fn *spec.Function, r *spec.Rule) *Expression {
	scope, group := fn.Params, ""
	if r.File != "" {
		g, _ := fn.Arg(r.Group)
		scope, group = g.Fields, r.Group
	}
	e, err := Parse(r.Expression, scope, group)
	if err != nil {
		panic(err)
	}
	return e
}

// Group is the group whose rows the expression is about, and Paths are what it names.
func (e *Expression) Group() string   { return e.group }
func (e *Expression) Paths() []string { return e.paths }

// A class is what Lua can do with a value.
type class string

const (
	number  class = "number"
	text    class = "text"
	boolean class = "bool"
	rows    class = "group"
	none    class = "nil"
	mixed   class = ""
)

func classOf(f spec.Field) class {
	switch {
	case f.Kind == spec.KindGroup:
		return rows
	case f.Kind == spec.KindBool:
		return boolean
	case f.Kind == spec.KindText || f.Kind == spec.KindEnum:
		return text
	}
	return number
}

func named(fields []spec.Field, name string) (spec.Field, error) {
	var all []string
	for _, f := range fields {
		if f.Kind == spec.KindKey {
			continue
		}
		if f.Lua == name {
			return f, nil
		}
		if f.Name == name {
			return f, refuse(name, "Lua knows %s with its unit: write %s", name, f.Lua)
		}
		all = append(all, f.Lua)
	}
	return spec.Field{}, refuse(name, "no argument is called %q%s", name, spelling.DidYouMean(name, all))
}

// field returns the field that a name or `group.name` stands for, and its path; false for any other expression.
func (e *Expression) field(x ast.Expr) (path string, f spec.Field, ok bool, err error) {
	switch x := x.(type) {
	case *ast.IdentExpr:
		f, err = named(e.scope, x.Value)
		return e.prefix + f.Name, f, true, err
	case *ast.AttrGetExpr:
		object, isName := x.Object.(*ast.IdentExpr)
		key, isText := x.Key.(*ast.StringExpr)
		if !isName || !isText {
			return "", f, false, nil
		}
		g, err := named(e.scope, object.Value)
		if err != nil {
			return "", f, true, err
		}
		if g.Kind != spec.KindGroup {
			return "", f, true, refuse(g.Name, "%s is no group: it has no %s", g.Name, key.Value)
		}
		f, err := named(g.Fields, key.Value)
		return g.Name + "." + f.Name, f, true, err
	}
	return "", f, false, nil
}

func (e *Expression) check(x ast.Expr) (class, error) {
	path, f, isField, err := e.field(x)
	if err != nil {
		return "", err
	}
	if isField {
		e.at[x] = path
		if !slices.Contains(e.paths, path) {
			e.paths = append(e.paths, path)
		}
		if group, _, inRow := strings.Cut(path, "."); inRow {
			if e.group != "" && e.group != group {
				return "", refuse(group, "%s and %s are different groups: a rule is about the rows of one", e.group, group)
			}
			e.group = group
		}
		return classOf(f), nil
	}
	switch x := x.(type) {
	case *ast.NilExpr:
		return none, nil
	case *ast.TrueExpr, *ast.FalseExpr:
		return boolean, nil
	case *ast.StringExpr:
		return text, nil
	case *ast.NumberExpr:
		_, err := constant(x)
		return number, err
	case *ast.UnaryNotOpExpr:
		_, err := e.check(x.Expr)
		return boolean, err
	case *ast.UnaryMinusOpExpr:
		return number, e.numbers("-", x.Expr)
	case *ast.UnaryLenOpExpr:
		is, err := e.check(x.Expr)
		if err == nil && is != rows && is != text {
			err = refuse("", "# is for the rows of a group and the bytes of a text")
		}
		return number, err
	case *ast.ArithmeticOpExpr:
		return number, e.numbers(x.Operator, x.Lhs, x.Rhs)
	case *ast.RelationalOpExpr:
		if x.Operator == "==" || x.Operator == "~=" {
			return boolean, e.same(x.Lhs, x.Rhs)
		}
		return boolean, e.numbers(x.Operator, x.Lhs, x.Rhs)
	case *ast.LogicalOpExpr:
		left, err := e.check(x.Lhs)
		if err != nil {
			return "", err
		}
		right, err := e.check(x.Rhs)
		if left == rows || right == rows {
			return "", refuse("", "a group is always there: compare its number of rows, as #limits > 0")
		}
		if left != right {
			left = mixed
		}
		return left, err
	}
	return "", refuse("", "a rule has arguments, constants, comparisons, arithmetic, and, or and not, nothing else")
}

// numbers checks operands that have to be numbers.
func (e *Expression) numbers(operator string, operands ...ast.Expr) error {
	for _, x := range operands {
		switch is, err := e.check(x); {
		case err != nil:
			return err
		case is != number && is != mixed:
			path, _, _, _ := e.field(x)
			return refuse(path, "%s is for numbers, and here it gets a %s", operator, is)
		}
	}
	return nil
}

// same checks the operands of == and ~=, which are of one class, or nil.
func (e *Expression) same(operands ...ast.Expr) error {
	var is [2]class
	for i, x := range operands {
		var err error
		if is[i], err = e.check(x); err != nil {
			return err
		}
		if _, f, ok, _ := e.field(x); ok && f.Kind == spec.KindEnum {
			if word, isText := operands[1-i].(*ast.StringExpr); isText && !slices.Contains(f.Values, word.Value) {
				return refuse(word.Value, "%s has no value %q%s (values: %s)", f.Name, word.Value, spelling.DidYouMean(word.Value, f.Values), strings.Join(f.Values, ", "))
			}
		}
	}
	if is[0] != is[1] && is[0] != none && is[1] != none && is[0] != mixed && is[1] != mixed {
		return refuse("", "a %s is never equal to a %s", is[0], is[1])
	}
	return nil
}

func constant(x *ast.NumberExpr) (float64, error) {
	n, err := strconv.ParseFloat(x.Value, 64)
	if err != nil {
		return 0, refuse(x.Value, "%s is not a decimal number", x.Value)
	}
	return n, nil
}

// A Rows is the value of a group: its number of rows.
type Rows int

// Unknown is the value of an argument that may be anything.
type Unknown struct{}

// Eval returns what Lua would: nil, a bool, a float64, a string or Rows. get gives the values of arguments by their paths.
// An error of Lua, such as arithmetic on nil, is Unknown.
func (e *Expression) Eval(get func(path string) any) any { return e.eval(e.root, get) }

// Holds reports whether an expression is true, or unknown.
func (e *Expression) Holds(get func(path string) any) bool { return truth(e.Eval(get)) }

func truth(v any) bool { return v != nil && v != false }

func (e *Expression) eval(x ast.Expr, get func(path string) any) any {
	if path, ok := e.at[x]; ok {
		return get(path)
	}
	switch x := x.(type) {
	case *ast.TrueExpr:
		return true
	case *ast.FalseExpr:
		return false
	case *ast.StringExpr:
		return x.Value
	case *ast.NumberExpr:
		n, _ := constant(x)
		return n
	case *ast.UnaryNotOpExpr:
		if v := e.eval(x.Expr, get); v != (Unknown{}) {
			return !truth(v)
		}
	case *ast.UnaryMinusOpExpr:
		if n, ok := e.eval(x.Expr, get).(float64); ok {
			return -n
		}
	case *ast.UnaryLenOpExpr:
		switch v := e.eval(x.Expr, get).(type) {
		case Rows:
			return float64(v)
		case string:
			return float64(len(v))
		}
	case *ast.ArithmeticOpExpr:
		return arithmetic(x.Operator, e.eval(x.Lhs, get), e.eval(x.Rhs, get))
	case *ast.RelationalOpExpr:
		return compare(x.Operator, e.eval(x.Lhs, get), e.eval(x.Rhs, get))
	case *ast.LogicalOpExpr:
		left, right := e.eval(x.Lhs, get), e.eval(x.Rhs, get)
		decides := truth(left) == (x.Operator == "or")
		switch {
		case left == Unknown{} && right != Unknown{} && truth(right) == (x.Operator == "or"):
			return right // whatever the left side is
		case left == Unknown{} || decides:
			return left
		}
		return right
	case *ast.NilExpr:
		return nil
	}
	return Unknown{}
}

func arithmetic(operator string, left, right any) any {
	a, ok := left.(float64)
	b, also := right.(float64)
	if !ok || !also {
		return Unknown{}
	}
	switch operator {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	case "/":
		return a / b
	case "%":
		return a - math.Floor(a/b)*b
	}
	return math.Pow(a, b)
}

func compare(operator string, left, right any) any {
	if left == (Unknown{}) || right == (Unknown{}) {
		return Unknown{}
	}
	switch operator {
	case "==":
		return left == right
	case "~=":
		return left != right
	}
	a, ok := left.(float64)
	b, also := right.(float64)
	if !ok || !also {
		return Unknown{}
	}
	switch operator {
	case "<":
		return a < b
	case "<=":
		return a <= b
	case ">":
		return a > b
	}
	return a >= b
}

// Absent is the value of an argument that a call omits.
func Absent(f spec.Field) any {
	word, given := f.DefaultWord()
	switch classOf(f) {
	case rows:
		return Rows(0)
	case boolean:
		return word == "true"
	case text:
		if given {
			return word
		}
	case number:
		if n, err := strconv.ParseFloat(word, 64); given && err == nil {
			return n
		}
	}
	return nil
}
