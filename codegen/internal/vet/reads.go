package vet

import (
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

var wholeReads = set("HGETALL HKEYS HVALS SMEMBERS SUNION SINTER SDIFF ZUNION ZINTER ZDIFF SUNIONSTORE SINTERSTORE SDIFFSTORE LCS")

// reads reports a command that reads as much as its key holds, unless the function asks for the key's size or trims it.
func (w *pass) reads(e *ast.FuncCallExpr, name string, args []value, rest *value) {
	if why := wholeContent(name, args, rest); why != "" && !w.sized(e) {
		w.report(e, RuleKeyLoop, "%s, and the server waits: bound it by a count or a range, test the key's size, or say why it is small with `-- rlfunc:ignore %s reason`", why, RuleKeyLoop)
	}
}

var sizes = set("LLEN HLEN SCARD ZCARD XLEN LTRIM ZREMRANGEBYRANK XTRIM")

// sized reports whether the function asks for the size of a command's key, or trims it.
func (w *pass) sized(e *ast.FuncCallExpr) (found bool) {
	if len(e.Args) < 2 {
		return false
	}
	key := w.file.pathOf(e.Args[1])
	w.fn.walk(func(node any, _ *function) {
		if call, ok := node.(*ast.FuncCallExpr); ok && call.Func != nil && len(call.Args) > 1 && key != "" && w.file.pathOf(call.Args[1]) == key {
			name, _ := call.Args[0].(*ast.StringExpr)
			found = found || name != nil && sizes[strings.ToUpper(name.Value)]
		}
	})
	return found
}

// wholeContent returns why a command reads as much as its key holds, or "".
func wholeContent(name string, args []value, rest *value) string {
	is := func(i int, s string) bool {
		if i >= len(args) {
			return false
		}
		l, ok := args[i].literal()
		return ok && strings.EqualFold(l, s)
	}
	without := func(word string, from int) string {
		if indexOfWord(args, from, word) >= 0 || rest != nil && mayBeWord(*rest, word) {
			return ""
		}
		return name + " without " + word + " reads as much as its key holds"
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
			return wholeContent("ZRANGE", args[1:], rest)
		}
	case "LRANGE", "ZRANGE", "ZREVRANGE":
		if hasWord(args, "BYSCORE", "BYLEX") {
			return without("LIMIT", 3)
		}
		if is(1, "0") && is(2, "-1") {
			return name + " 0 -1 reads the whole content of its key"
		}
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
		if len(args) > 0 && len(args[0].keys) > 0 && args[0].keys[0].Redis != "string" {
			return name + " copies the whole content of its key"
		}
	}
	if wholeReads[name] {
		return name + " reads the whole content of its key"
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

// expiry checks the unit of a time to live.
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
		switch {
		case v.unit != "" && v.unit != unit:
			w.report(arg(i), RuleBadTTL, "%s is in %s, and %s takes %s", exprText(arg(i)), unitNames[v.unit], word, unitNames[unit])
		case strings.HasSuffix(word, "AT") && v.traits&span != 0:
			w.report(arg(i), RuleBadTTL, "%s is a span, and %s takes a time: add the clock", exprText(arg(i)), word)
		}
	}
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
