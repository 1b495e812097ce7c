package luahost

import (
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// A Block is a body of a function, a loop or a branch.
type Block struct {
	Line     int
	Function int  // the number of the block that is the body of its function
	Loaded   bool // it has run while the library loaded
}

// Observer is embedded.Observer, which says what values and lines are.
type Observer interface {
	// Loaded gives the blocks of a library, by their numbers.
	Loaded(library string, blocks []Block)
	// Called begins a call, and returns how many instructions it may take: then it ends with an error. 0 means any number.
	Called(library, function string, keys, args []string) (most int)
	// Block says that a block of the library runs.
	Block(i int)
	// Operator reports operands that are legal and nearly always wrong. The problem is "division-by-zero" (by 0), "mixed-comparison" (of values of
	// different types, of numbers as texts, or with NaN), "hole" (the length of a list that has one) or "caller-text" (a pattern, a replacement or a
	// format, which is wrong only if it has a text of the caller).
	Operator(line int, problem, text string, operands ...any)
	// Text reports a text made of a number that it no longer is; what says why. That is wrong only if the text is stored or returned.
	Text(line int, text, problem, what string)
	// Command begins a command. Numbers among its arguments are float64, as Lua has passed them. Sizes are the numbers of elements of
	// its keys: of a text its bytes, of a list those that the command passes. Protected means redis.pcall.
	Command(line int, args []any, keys []string, sizes []int, write, protected bool)
	// Replied ends a command, with the number of elements of its reply, 0 for a null, or its error.
	Replied(elements int, failure string)
	// Returned gives what an annotated function has returned: true and its results, or false and what it raised.
	Returned(values []any)
	// Ended ends a call, with the number of instructions that it took.
	Ended(steps int)
}

// The names of what observed code calls.
const (
	blockName    = "\x00block"
	returnedName = "\x00returned"
	raisedName   = "\x00raised"
	divideName   = "\x00divide"
	multiplyName = "\x00multiply"
	negateName   = "\x00negate"
	lengthName   = "\x00length"
)

// relations are what observed code calls in place of operators.
var relations = map[string]string{"==": "\x00eq", "~=": "\x00ne", "<": "\x00lt", "<=": "\x00le", ">": "\x00gt", ">=": "\x00ge"}

// observed rewrites an operation so that the observer learns of bad operands. It returns nil where there is nothing to observe.
func observed(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.RelationalOpExpr:
		return hiddenCall(relations[e.Operator], e, e.Lhs, e.Rhs)
	case *ast.ArithmeticOpExpr:
		switch e.Operator {
		case "/":
			return hiddenCall(divideName, e, e.Lhs, e.Rhs)
		case "*": // gopher-lua makes 0 of -0
			return hiddenCall(multiplyName, e, e.Lhs, e.Rhs)
		}
	case *ast.UnaryMinusOpExpr:
		if _, literal := e.Expr.(*ast.NumberExpr); !literal {
			return hiddenCall(negateName, e, e.Expr)
		}
	case *ast.UnaryLenOpExpr:
		return hiddenCall(lengthName, e, e.Expr)
	}
	return nil
}

// function marks the beginning of the body of a function.
func (r *rewriter) function(at ast.PositionHolder, in []ast.Stmt) []ast.Stmt {
	outer := r.inside
	r.inside = len(r.blocks)
	out := r.body(at, in)
	r.inside = outer
	return out
}

// body marks the beginning of a block.
func (r *rewriter) body(at ast.PositionHolder, in []ast.Stmt) []ast.Stmt {
	if !r.observe || len(in) == 0 {
		return r.block(in)
	}
	if first, ok := in[0].(ast.PositionHolder); ok && first.Line() > 0 {
		at = first
	}
	number := &ast.NumberExpr{Value: strconv.Itoa(len(r.blocks))}
	r.blocks = append(r.blocks, Block{Line: at.Line(), Function: r.inside})
	place(number, at)
	mark := &ast.FuncCallStmt{Expr: hiddenCall(blockName, at, number)}
	place(mark, at)
	return append([]ast.Stmt{mark}, r.block(in)...)
}

// returned has the observer see what an author's function returns, into locals that begin with out_, or what is raised: the generated entry
// calls it in a line of its own, and what runs the entry begins with rlfunc_ok.
func (r *rewriter) returned(s *ast.LocalAssignStmt) {
	hook := returnedName
	if s.Names[0] == "rlfunc_ok" {
		hook = raisedName
	}
	if !r.observe || len(s.Exprs) != 1 || hook == returnedName && !strings.HasPrefix(s.Names[0], "out_") {
		return
	}
	name := &ast.IdentExpr{Value: hook}
	place(name, s)
	c := &ast.FuncCallExpr{Func: name, Args: s.Exprs}
	place(c, s)
	s.Exprs = []ast.Expr{c}
}

// doubt tells the observer of a bad operand. It is only called while a function runs.
func (l *Library) doubt(L *lua.LState, problem, text string, operands ...any) {
	if l.host != nil {
		l.observer.Operator(lineOf(L), problem, text, operands...)
	}
}

// lineOf is the line of the innermost Lua function.
func lineOf(L *lua.LState) int {
	for level := 0; ; level++ {
		frame, ok := L.GetStack(level)
		if !ok {
			return 0
		}
		if _, err := L.GetInfo("l", frame, lua.LNil); err == nil && frame.CurrentLine > 0 {
			return frame.CurrentLine
		}
	}
}

// openObserved makes the functions that observed code calls.
func (l *Library) openObserved() {
	set := func(name string, f lua.LGFunction) { l.env.table.RawSetString(name, l.state.NewFunction(f)) }
	set(blockName, func(L *lua.LState) int {
		switch i := int(L.Get(1).(lua.LNumber)); { // body has written it
		case l.host != nil:
			l.observer.Block(i)
		case l.loading:
			l.blocks[i].Loaded = true
		}
		return 0
	})
	values := func(L *lua.LState) []any {
		all := make([]any, L.GetTop())
		for i := range all {
			all[i] = l.plain(L.Get(i+1), 0)
		}
		return all
	}
	set(returnedName, func(L *lua.LState) int {
		l.observer.Returned(append([]any{true}, values(L)...))
		return L.GetTop()
	})
	set(raisedName, func(L *lua.LState) int { // what pcall returns
		if L.Get(1) == lua.LFalse && !strings.HasPrefix(failureText(L.Get(2)), "RLARG ") { // which the entry raises itself
			l.observer.Returned(values(L))
		}
		return L.GetTop()
	})
	binary := func(event string, calculate func(L *lua.LState, a, b float64) float64) lua.LGFunction {
		return func(L *lua.LState) int {
			a, ok := toNumber(L.Get(1))
			b, ok2 := toNumber(L.Get(2))
			if !ok || !ok2 {
				return arithmeticFallback(L, event)
			}
			L.Push(lua.LNumber(calculate(L, a, b)))
			return 1
		}
	}
	set(divideName, binary("__div", func(L *lua.LState, a, b float64) float64 {
		if b == 0 {
			l.doubt(L, "division-by-zero", "divides by 0")
		}
		return a / b
	}))
	set(multiplyName, binary("__mul", func(_ *lua.LState, a, b float64) float64 { return a * b }))
	set(negateName, func(L *lua.LState) int {
		L.SetTop(1)
		L.Push(lua.LNumber(0))
		return binary("__unm", func(_ *lua.LState, a, _ float64) float64 { return -a })(L)
	})
	set(relations["=="], func(L *lua.LState) int { L.Push(lua.LBool(l.equal(L))); return 1 })
	set(relations["~="], func(L *lua.LState) int { L.Push(lua.LBool(!l.equal(L))); return 1 })
	less := func(a, b float64) bool { return a < b }
	atMost := func(a, b float64) bool { return a <= b }
	set(relations["<"], func(L *lua.LState) int { return l.ordered(L, L.Get(1), L.Get(2), "__lt", less) })
	set(relations["<="], func(L *lua.LState) int { return l.ordered(L, L.Get(1), L.Get(2), "__le", atMost) })
	set(relations[">"], func(L *lua.LState) int { return l.ordered(L, L.Get(2), L.Get(1), "__lt", less) }) // as Lua does
	set(relations[">="], func(L *lua.LState) int { return l.ordered(L, L.Get(2), L.Get(1), "__le", atMost) })
	set(lengthName, func(L *lua.LState) int {
		v := L.Get(1)
		if t, ok := v.(*lua.LTable); ok && t.Metatable == lua.LNil {
			if length, elements, last := shape(t); elements != last {
				l.doubt(L, "hole", "takes the length of a list with a hole: "+strconv.Itoa(length)+" here, and perhaps another on a server")
			}
		}
		if t := v.Type(); t != lua.LTTable && t != lua.LTString && L.GetMetaField(v, "__len") == lua.LNil {
			L.RaiseError("attempt to get length of a %s value", t.String())
		}
		L.Push(lua.LNumber(L.ObjLen(v)))
		return 1
	})
}

// shape returns the length of a table, how many of its keys are positions, and the last of these. Long tables are taken for lists.
func shape(t *lua.LTable) (length, elements, last int) {
	if length = t.Len(); length > 200 {
		return length, length, length
	}
	t.ForEach(func(k, _ lua.LValue) {
		if n, ok := k.(lua.LNumber); ok && n >= 1 && float64(n) == math.Trunc(float64(n)) {
			elements++
			last = max(last, int(n))
		}
	})
	return length, elements, last
}

// equal is ==, of which two operands of different types are worth a word.
func (l *Library) equal(L *lua.LState) bool {
	a, b := L.Get(1), L.Get(2)
	if x, y := a.Type(), b.Type(); x != y {
		value := func(v lua.LValue) bool { return v.Type() == lua.LTNumber || v.Type() == lua.LTString || v == lua.LTrue }
		if value(a) && value(b) {
			l.doubt(L, "mixed-comparison", "compares a "+x.String()+" with a "+y.String()+", which is never equal")
		}
	}
	l.number(L, a)
	l.number(L, b)
	return L.Equal(a, b)
}

// ordered is < and its like.
func (l *Library) ordered(L *lua.LState, a, b lua.LValue, event string, holds func(a, b float64) bool) int {
	x, isNumber := a.(lua.LNumber)
	y, isNumber2 := b.(lua.LNumber)
	s, isText := a.(lua.LString)
	t, isText2 := b.(lua.LString)
	switch {
	case isNumber && isNumber2:
		l.number(L, a)
		l.number(L, b)
		L.Push(lua.LBool(holds(float64(x), float64(y))))
	case isText && isText2:
		_, n := toNumber(a)
		if _, m := toNumber(b); n && m && len(s) != len(t) {
			l.doubt(L, "mixed-comparison", "compares two numbers as texts, in which '10' is less than '9'", string(s), string(t))
		}
		L.Push(lua.LBool(holds(float64(strings.Compare(string(s), string(t))), 0)))
	case a.Type() == b.Type() && L.GetMetaField(a, event) != lua.LNil && L.GetMetaField(a, event) == L.GetMetaField(b, event):
		L.Push(L.GetMetaField(a, event))
		L.Push(a)
		L.Push(b)
		L.Call(2, 1)
		L.Push(lua.LBool(lua.LVAsBool(L.Get(-1))))
	default:
		L.RaiseError("attempt to compare %s with %s", a.Type().String(), b.Type().String())
	}
	return 1
}

// number tells of a NaN in a comparison.
func (l *Library) number(L *lua.LState, v lua.LValue) {
	if n, ok := v.(lua.LNumber); ok && math.IsNaN(float64(n)) {
		l.doubt(L, "mixed-comparison", "compares NaN, with which no comparison is true")
	}
}

// lossy tells of a text that no longer is its number.
func (l *Library) lossy(L *lua.LState, n float64, text string, whole bool) {
	if l.observer == nil || l.host == nil {
		return
	}
	problem := ""
	switch read, err := strconv.ParseFloat(text, 64); {
	case math.IsNaN(n) || math.IsInf(n, 0):
		problem = "is no finite number"
	case n == 0 && math.Signbit(n) && text == "-0":
		problem = "is -0"
	case math.Abs(n) > 1<<53:
		problem = "is above 2^53, where numbers have gaps"
	case whole && n != math.Trunc(n):
		problem = "has lost the fraction of the number"
	case !whole && math.Abs(n) >= 1e14 && strings.ContainsAny(text, "eE"), !whole && (err != nil || read != n && n == math.Trunc(n)):
		problem = "has lost digits of the number, since tostring and .. write 14 (format '%.0f' writes all)"
	default:
		return
	}
	l.observer.Text(lineOf(L), text, "number-text", "the text "+text+" "+problem)
}

// spelled tells of the arguments that a function reads as a pattern, a replacement or a format, if they have what these give a meaning.
func (l *Library) spelled(name string, at []int, f func(c call) int) func(c call) int {
	return func(c call) int {
		for _, i := range at {
			plain := name == "find" && lua.LVAsBool(c.Get(4))
			if text, ok := c.Get(i).(lua.LString); ok && !plain && strings.ContainsAny(string(text), "^$*+?.([%-") {
				l.doubt(c.LState, "caller-text", "string."+name+" reads a text as "+[]string{1: "a format", 2: "a pattern", 3: "a replacement"}[i], string(text))
			}
		}
		return f(c)
	}
}

// plain is a value of Lua as an Observer gets it.
func (l *Library) plain(v lua.LValue, depth int) any {
	switch v := v.(type) {
	case *lua.LNilType:
		return nil
	case lua.LBool:
		return bool(v)
	case lua.LNumber:
		return float64(v)
	case lua.LString:
		return string(v)
	case *lua.LTable:
		out := map[any]any{}
		if depth < 8 {
			l.env.behind(v).ForEach(func(k, e lua.LValue) {
				switch key := l.plain(k, depth+1).(type) {
				case string, float64, bool:
					out[key] = l.plain(e, depth+1)
				}
			})
		}
		return out
	}
	return struct{}{}
}

// command tells the observer of a command that is about to run.
func (l *Library) command(L *lua.LState, args []string, protected bool) {
	values := make([]any, len(args))
	for i := range values {
		values[i] = args[i]
		if n, ok := L.Get(i + 1).(lua.LNumber); ok {
			values[i] = float64(n)
		}
	}
	keys, sizes, write := l.host.KeysOf(args)
	l.observer.Command(lineOf(L), values, keys, sizes, write, protected)
}

// failureText is the text of what was raised.
func failureText(raised lua.LValue) string {
	if t, ok := raised.(*lua.LTable); ok {
		raised = t.RawGetString("err")
	}
	return raised.String()
}
