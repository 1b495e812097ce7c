package vet

import (
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// mostRead is the greatest number of elements that one command may read.
const mostRead = 10_000

var wholeReads = set("HGETALL HKEYS HVALS SMEMBERS SUNION SINTER SDIFF ZUNION ZINTER ZDIFF SUNIONSTORE SINTERSTORE SDIFFSTORE LCS")

// reads reports work that grows with what a key holds.
func (w *pass) reads(e *ast.FuncCallExpr, arg func(int) ast.Expr, cmd *command, args []value, rest *value) {
	if why := w.wholeContent(arg, cmd.name, args, rest); why != "" && !w.factsOf(w.fn).sized[w.file.pathOf(arg(0))] {
		w.report(e, RuleKeyLoop, "%s, and the server waits: bound it by a count or a range of at most 10,000, compare the key's length before, or say why it is small with `-- rlfunc:ignore %s reason`", why, RuleKeyLoop)
	}
	for _, l := range w.loops {
		if l.endless {
			w.report(e, RuleKeyLoop, "%s runs in a loop whose end depends on data, and after 5 seconds every client gets BUSY: count the turns with a for, or say what bounds it with `-- rlfunc:ignore %s reason`", cmd.name, RuleKeyLoop)
			return
		}
	}
}

// wholeContent returns why a command reads as much as its key holds, or "".
func (w *pass) wholeContent(arg func(int) ast.Expr, name string, args []value, rest *value) string {
	at := func(i int) value {
		if i < len(args) {
			return args[i]
		}
		return value{}
	}
	is := func(i int, s string) bool { l, ok := at(i).literal(); return ok && strings.EqualFold(l, s) }
	without := func(word string, from int) string {
		i := indexOfWord(args, from, word)
		if i < 0 && rest != nil && mayBeWord(*rest, word) {
			return ""
		}
		if i < 0 {
			return name + " without " + word + " reads as much as its key holds"
		}
		n := i + 1
		if word == "LIMIT" && !strings.HasSuffix(name, "INTERCARD") {
			n++
		}
		return w.counted(name, arg(n), at(n))
	}
	switch name {
	case "XREAD", "XREADGROUP", "XRANGE", "XREVRANGE", "GEOSEARCH", "GEOSEARCHSTORE":
		return without("COUNT", 0)
	case "SINTERCARD", "ZINTERCARD":
		return without("LIMIT", 0)
	case "ZRANGEBYSCORE", "ZREVRANGEBYSCORE", "ZRANGEBYLEX", "ZREVRANGEBYLEX":
		return without("LIMIT", 3)
	case "ZRANGESTORE":
		if len(args) > 0 {
			return w.wholeContent(func(i int) ast.Expr { return arg(i + 1) }, "ZRANGE", args[1:], rest)
		}
	case "LRANGE", "ZRANGE", "ZREVRANGE":
		if hasWord(args, "BYSCORE", "BYLEX") {
			return without("LIMIT", 3)
		}
		return w.ranged(name, arg(1), arg(2), at(1), at(2))
	case "ZREMRANGEBYRANK":
		if is(1, "0") && is(2, "-1") {
			return name + " 0 -1 removes the whole content of its key: use UNLINK"
		}
	case "LPOS":
		if i := indexOfWord(args, 2, "MAXLEN"); i < 0 || is(i+1, "0") {
			return "LPOS without MAXLEN, or with 0, searches the whole list"
		}
	case "LREM":
		if is(1, "0") {
			return "LREM 0 searches the whole list"
		}
	case "DUMP", "COPY":
		if len(at(0).keys) > 0 && at(0).keys[0].Redis != "string" {
			return name + " copies the whole content of its key"
		}
	case "LPOP", "RPOP", "SPOP", "SRANDMEMBER", "HRANDFIELD", "ZRANDMEMBER", "ZPOPMIN", "ZPOPMAX":
		if len(args) > 1 {
			return w.counted(name, arg(1), at(1))
		}
	case "HSCAN", "SSCAN", "ZSCAN", "LMPOP", "ZMPOP":
		if i := indexOfWord(args, 0, "COUNT"); i >= 0 {
			return w.counted(name, arg(i+1), at(i+1))
		}
	}
	if wholeReads[name] {
		return name + " reads the whole content of its key"
	}
	return ""
}

// counted checks a number of elements: a literal, an argument with bounds, or what the function compares.
func (w *pass) counted(name string, e ast.Expr, v value) string {
	why := name + " reads as much as its key holds without a count of at most 10,000"
	if text, ok := v.literal(); ok {
		if n, _ := number(text); n > mostRead || n < -mostRead || n == 0 && strings.HasPrefix(name, "X") || n < 0 && strings.HasPrefix(name, "Z") && name != "ZRANDMEMBER" {
			return why
		}
		return ""
	}
	if w.unbounded(e, v) {
		return why
	}
	return ""
}

// unbounded reports an argument that the header lets be above 10,000, or a key's length, which nothing compares.
func (w *pass) unbounded(e ast.Expr, v value) bool {
	if v.traits&grows != 0 {
		return !w.compared(e)
	}
	return v.arg != nil && v.arg.Kind.Integer() && v.arg.Max > mostRead && !w.testsArgument(v.arg)
}

// ranged checks a range of ranks.
func (w *pass) ranged(name string, from, to ast.Expr, first, last value) string {
	why := name + " reads as much as its key holds unless its ends are at most 10,000 apart, as 0 99"
	a, okA := first.literal()
	b, okB := last.literal()
	x, _ := number(a)
	y, _ := number(b)
	switch {
	case okA && okB:
		if (x >= 0) != (y >= 0) && !(x < 0 && y >= 0 && y <= mostRead) || y-x >= mostRead {
			return why
		}
	case okB && y < 0 && !w.compared(from) && first.arg == nil && first.traits&grows == 0 && !first.may(isString):
		return ""
	case okB && y < 0:
		if first.arg != nil && first.arg.Min >= 0 {
			return why
		}
	case okA:
		if x >= 0 && w.unbounded(to, last) {
			return why
		}
	default:
		if w.unbounded(to, last) && first.arg != last.arg {
			return why
		}
	}
	return ""
}

// readsMany reports whether a reply may have more than 1,000 elements by its literals, or by the bounds of arguments.
func (w *pass) readsMany(name string, args []value) bool {
	at := func(i int) (float64, bool) {
		if i < 0 || i >= len(args) {
			return 0, false
		}
		if b := args[i].arg; b != nil && b.Kind.Integer() {
			return float64(b.Max), true
		}
		s, ok := args[i].literal()
		n, _ := number(s)
		return n, ok
	}
	each := 1.0
	if hasWord(args, "WITHSCORES", "WITHVALUES") || strings.HasPrefix(name, "ZPOP") {
		each = 2
	}
	place := 1
	switch name {
	case "LRANGE", "ZRANGE", "ZREVRANGE", "ZRANGEBYSCORE", "ZREVRANGEBYSCORE", "ZRANGEBYLEX", "ZREVRANGEBYLEX":
		if place = indexOfWord(args, 3, "LIMIT") + 2; place == 1 {
			a, okA := at(1)
			b, okB := at(2)
			return okA && okB && ((a >= 0) != (b >= 0) || (b-a+1)*each > 1000)
		}
	case "LPOP", "RPOP", "SPOP", "SRANDMEMBER", "ZPOPMIN", "ZPOPMAX":
	default:
		return wholeReads[name]
	}
	n, known := at(place)
	return known && max(n, -n)*each > 1000
}

// unpacked checks unpack, and returns the elements.
func (w *pass) unpacked(e *ast.FuncCallExpr, exprs []ast.Expr, args []value) []tuple {
	if len(args) == 0 {
		return []tuple{{}}
	}
	list := args[0]
	w.usable(exprs[0], list, isTable, "unpack")
	var elem value
	large := false
	for _, o := range list.objs {
		elem = join(elem, o.elem.value)
		large = large || o.large || o.most > 7999
	}
	if list.may(isOther) {
		elem = anything()
	}
	if large && len(args) == 1 {
		w.report(e, RuleUnpack, "unpack of %s may have too many elements: above 7,999 it is an error, and engines differ above 1,000; unpack slices of 100, or loop", exprText(exprs[0]))
	}
	elem = elem.without(isNil | isDoubt)
	if len(exprs) == 3 {
		if last, ok := exprs[2].(*ast.NumberExpr); ok && !slices.ContainsFunc(list.objs, func(o *object) bool { n, _ := number(last.Value); return int(n) <= o.least }) {
			elem.kinds |= isDoubt // there may be fewer
		}
	}
	t := tuple{rest: &elem}
	whole := len(args) == 1
	if len(exprs) == 3 {
		length, ok := exprs[2].(*ast.UnaryLenOpExpr)
		first, _ := args[1].literal()
		whole = ok && first == "1" && w.file.pathOf(length.Expr) == w.file.pathOf(exprs[0])
	}
	if whole && len(list.objs) == 1 && list.objs[0].reply == "" {
		for i := range list.objs[0].least {
			t.vals = append(t.vals, list.objs[0].field(strconv.Itoa(i+1)))
		}
		later := list.objs[0].stored.value // what follows the constructor's
		t.rest = &later
	}
	return []tuple{t}
}

// ttlPlaces returns the places of times to live among a command's arguments.
func ttlPlaces(name string, args []value) (out []int) {
	switch name {
	case "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "SETEX", "PSETEX", "HEXPIRE", "HPEXPIRE":
		return []int{1}
	case "SET", "GETEX":
		for i := 1; i < len(args)-1; i++ {
			if isWord(args[i], "EX", "PX", "EXAT", "PXAT") {
				out = append(out, i+1)
			}
		}
	}
	return out
}

// expiry checks a time to live: whole, above 0, in the command's unit.
func (w *pass) expiry(e *ast.FuncCallExpr, arg func(int) ast.Expr, name string, args []value) {
	for _, i := range ttlPlaces(name, args) {
		if i >= len(args) {
			continue
		}
		v, word := args[i], name
		if name == "SET" || name == "GETEX" {
			word, _ = args[i-1].literal()
			word = strings.ToUpper(word)
		}
		unit := "s"
		if strings.HasPrefix(word, "P") || strings.HasPrefix(word, "HP") {
			unit = "ms"
		}
		literal, fixed := v.literal()
		n, isNumeral := number(literal)
		switch {
		case fixed && (!isNumeral || n < 1 || n != float64(int64(n))):
			w.report(arg(i), RuleBadTTL, "%s takes a whole number of at least 1, not %s", word, literal)
		case v.may(isString) && v.arg != nil:
			w.report(arg(i), RuleBadTTL, "%s is a text of the caller, and any but a whole number is an error: declare a duration", exprText(arg(i)))
		case v.unit != "" && v.unit != unit:
			w.report(arg(i), RuleBadTTL, "%s is in %s, and %s takes %s", exprText(arg(i)), unitNames[v.unit], word, unitNames[unit])
		case strings.HasSuffix(word, "AT") && v.traits&span != 0:
			w.report(arg(i), RuleBadTTL, "%s is a span, and %s takes a time: add the clock", exprText(arg(i)), word)
		case v.arg != nil && v.arg.Kind.Integer() && v.arg.Min < 1 && !w.testsArgument(v.arg) && !strings.HasSuffix(word, "AT"):
			w.report(arg(i), RuleBadTTL, "%s can be 0 by the header, which is an error or deletes the key: let it begin at 1, or test it first", exprText(arg(i)))
		}
	}
}

// forTurns checks how many turns a for has.
func (w *pass) forTurns(s *ast.NumberForStmt, last, step value) {
	if step.arg != nil && step.arg.Min <= 0 && step.arg.Max >= 0 && !w.testsArgument(step.arg) {
		w.report(s, RuleEndlessLoop, "the step %s may be 0 by its header, and then the loop has no end: let it begin at 1", exprText(s.Step))
	}
	if n, ok := step.literal(); ok && s.Step != nil {
		if n, _ := number(n); n == 0 {
			w.report(s, RuleEndlessLoop, "a step of 0 has no end")
		}
	}
	if last.arg != nil && last.arg.Kind.Integer() && last.arg.Max > 1_000_000 && s.Step == nil && !w.testsArgument(last.arg) {
		w.report(s, RuleEndlessLoop, "%s may be more than 1,000,000 by the header's bounds, and the server waits: bound it", exprText(s.Limit))
	}
	if last.traits&grows != 0 && !w.compared(s.Limit) {
		w.report(s, RuleKeyLoop, "this loops as often as %s is long, and the server waits: compare it before, or take math.min of it and a bound", last.reply)
	}
}

// endless reports a loop whose condition nothing in it changes, without a way out.
func (w *pass) endless(s ast.Stmt, cond ast.Expr, body []ast.Stmt) {
	exits, changes := leaves(body), map[*variable]bool{}
	w.file.visit(w.fn, body, func(node any, in *function) {
		switch node := node.(type) {
		case *ast.ReturnStmt:
			exits = exits || in == w.fn
		case *ast.AssignStmt:
			for _, lhs := range node.Lhs {
				changes[w.file.base(lhs)] = true
			}
		case *ast.LocalAssignStmt:
			for _, v := range w.file.decls[node] {
				changes[v] = true
			}
		case *ast.FuncCallExpr:
			name := exprText(node.Func)
			exits = exits || name == "error" || name == "assert"
			for _, a := range node.Args {
				changes[w.file.base(a)] = true
			}
		}
	})
	moves := false
	w.file.visit(w.fn, cond, func(node any, _ *function) {
		switch node := node.(type) {
		case *ast.IdentExpr:
			v := w.file.refs[node]
			moves = moves || v != nil && (changes[v] || v.shared)
		case *ast.FuncCallExpr:
			moves = moves || node.Func == nil || !w.file.provided(node.Func) || strings.HasPrefix(exprText(node.Func), "redis.")
		}
	})
	if !exits && !moves {
		w.report(s, RuleEndlessLoop, "nothing in this loop changes its condition, so it has no end: after 5 seconds every client gets BUSY")
	}
	if n := len(w.loops); n > 0 {
		w.loops[n-1].endless = w.loops[n-1].endless && !countsTurns(cond)
	}
}

// leaves reports whether a break leaves the loop around statements.
func leaves(list []ast.Stmt) bool {
	return slices.ContainsFunc(list, func(s ast.Stmt) bool {
		switch s := s.(type) {
		case *ast.BreakStmt:
			return true
		case *ast.IfStmt:
			return leaves(s.Then) || leaves(s.Else)
		case *ast.DoBlockStmt:
			return leaves(s.Stmts)
		}
		return false
	})
}

// countsTurns reports whether a condition compares with a number or a length.
func countsTurns(cond ast.Expr) bool {
	switch c := cond.(type) {
	case *ast.LogicalOpExpr:
		return c.Operator == "and" && (countsTurns(c.Lhs) || countsTurns(c.Rhs))
	case *ast.RelationalOpExpr:
		for _, side := range []ast.Expr{c.Lhs, c.Rhs} {
			switch x := side.(type) {
			case *ast.NumberExpr:
				if c.Operator != "==" && c.Operator != "~=" && x.Value != "0" {
					return true
				}
			case *ast.UnaryLenOpExpr:
				return c.Operator != "==" && c.Operator != "~="
			}
		}
	}
	return false
}

// base returns the variable that an expression begins with.
func (f *file) base(e ast.Expr) *variable {
	for {
		switch x := e.(type) {
		case *ast.IdentExpr:
			return f.refs[x]
		case *ast.AttrGetExpr:
			e = x.Object
		default:
			return nil
		}
	}
}

// named returns the local that an expression is.
func (f *file) named(e ast.Expr) *variable {
	if id, ok := e.(*ast.IdentExpr); ok {
		return f.refs[id]
	}
	return nil
}
