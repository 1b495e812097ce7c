package vet

import (
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// call runs a call. It follows the author's functions, and models those of Redis.
func (r *run) call(s *state, e *ast.FuncCallExpr) []outcome {
	if e.Func == nil {
		return r.method(s, e)
	}
	if isPlain(e.Func) {
		return r.callTo(s, e, r.plain(s, e.Func))
	}
	var out []outcome
	for _, callee := range r.eval(s, e.Func) {
		out = append(out, r.callTo(callee.s, e, callee.v)...)
	}
	return out
}

// callTo runs a call whose function is known.
func (r *run) callTo(s *state, e *ast.FuncCallExpr, callee value) []outcome {
	if callee.only(isNil|isFalse) && !callee.lenient {
		r.report(r.at(e), RuleMaybeNil, "cannot call %s: there is no such function here", exprText(e.Func))
	}
	if member, ok := e.Func.(*ast.AttrGetExpr); callee.may(isFunc) && !(ok && isLiteral(member.Key)) { // a field may belong to another
		r.needs(s, callee, e.Func, "call")
	}
	lists := r.evalList(s, e.Args)
	if len(lists) == 1 {
		return r.apply(lists[0].s, e, callee, lists[0].vals)
	}
	var out []outcome
	for _, args := range lists {
		out = append(out, r.apply(args.s, e, callee, args.vals)...)
	}
	return out
}

func (r *run) apply(s *state, e *ast.FuncCallExpr, callee value, args []value) []outcome {
	if len(callee.fns()) == 0 || callee.lenient {
		return r.lost(s, args, 1)
	}
	fns := callee.fns()
	if len(fns) == 1 {
		return r.applyOne(s, e, fns[0], args)
	}
	var out []outcome
	for i, c := range fns {
		st := s
		if i < len(fns)-1 {
			st = s.clone()
		}
		out = append(out, r.applyOne(st, e, c, args)...)
	}
	return out
}

func (r *run) applyOne(s *state, e *ast.FuncCallExpr, c *closure, args []value) []outcome {
	if c.builtin != "" {
		return r.withCallbacks(s, e, c.builtin, args)
	}
	if r.compares(c.fn) {
		r.bounded(s, e.Args...)
	}
	out := r.invoke(s, c, args, e, passed{e.Args, r.isOpenList(s, e)})
	r.shownOfArguments(e, out)
	for i, v := range args[:min(len(args), len(e.Args))] {
		if v.json == decodedField && c.fn.testsType(i) && r.pathOf(e.Args[i]) != "" {
			v.json = 0
			for _, o := range out {
				r.replace(o.s, e.Args[i], v)
			}
		}
	}
	return out
}

// lost returns the outcome of a call that is not followed. Such a call may have stored any value in its table arguments.
func (r *run) lost(s *state, args []value, results int) []outcome {
	w := r.marks.view(s)
	for _, v := range args {
		w.see(0, v)
	}
	slices.Sort(w.tables)
	for _, id := range w.tables {
		if _, ok := s.base.get(id); !ok {
			o := s.object(id)
			o.size = tally{}
			r.append(o, anything())
		}
	}
	return gives(s, slices.Repeat([]value{anything()}, results)...)
}

// method runs `object:name(...)`: a function of the string library on a string, or a field of a table.
func (r *run) method(s *state, e *ast.FuncCallExpr) []outcome {
	var out []outcome
	for _, receiver := range r.eval(s, e.Receiver) {
		for _, args := range r.evalList(receiver.s, e.Args) {
			vals := append([]value{receiver.v}, args.vals...)
			r.needs(args.s, receiver.v, e.Receiver, "call a method of")
			switch {
			case receiver.v.only(isStr):
				out = append(out, r.withCallbacks(args.s, e, "string."+e.Method, vals)...)
			case len(receiver.v.objects) == 1 && args.s.get(receiver.v.objects[0]) != nil:
				callee, _ := args.s.get(receiver.v.objects[0]).field(e.Method)
				out = append(out, r.apply(args.s, e, callee, vals)...)
			default:
				out = append(out, outcome{s: args.s, vals: []value{anything()}})
			}
		}
	}
	return out
}

// argument returns the expression of argument i. The last expression supplies all further arguments.
func argument(e *ast.FuncCallExpr, i int) ast.Expr {
	if e.Func == nil {
		i--
	}
	if i < 0 {
		return e.Receiver
	}
	if len(e.Args) == 0 {
		return e
	}
	return e.Args[min(i, len(e.Args)-1)]
}

// results returns the most values that a function returns one by one, at least 1.
func (fn *function) results() int {
	most := 1
	if fn == nil || fn.expr == nil {
		return most
	}
	fn.walk(func(node any, in *function) {
		if stmt, ok := node.(*ast.ReturnStmt); ok && in == fn {
			most = max(most, len(stmt.Exprs))
		}
	})
	return most
}

func gives(s *state, vals ...value) []outcome { return []outcome{{s: s, vals: vals}} }

// builtinCall runs a function that Redis provides.
func (r *run) builtinCall(s *state, e *ast.FuncCallExpr, name string, args []value) []outcome {
	first := valueAt(args, 0)
	switch name {
	case "redis.call", "redis.pcall":
		return r.redisCall(s, e, args, name == "redis.pcall")
	case "redis.error_reply":
		r.errorText(argument(e, 0), first)
		return gives(s, r.newObject(s, e, &object{fields: with("err", first)}))
	case "redis.status_reply":
		return gives(s, r.newObject(s, e, &object{fields: with("ok", first)}))
	case "redis.sha1hex":
		return gives(s, of(isStr))
	case "error":
		r.raises(e, first)
		if len(r.frames) == 1 && !r.caught() {
			r.refused(s, r.at(e), "the error")
		}
		s.raised = true
		r.thrown(s)
		return nil
	case "assert":
		return r.assert(s, e, args)
	case "pcall":
		return r.protected(s, e, args)
	case "tonumber":
		return gives(s, r.toNumber(e, first))
	case "tostring":
		r.numberText(first, argument(e, 0), "tostring")
		out := value{kinds: isStr, taint: first.taint, literal: first.literal, fixed: first.fixed, digits: first.digits}
		out.setPrefix(first.rares().prefix)
		return gives(s, out)
	case "type":
		return gives(s, value{kinds: isStr})
	case "unpack":
		return r.unpack(s, e, args)
	case "select":
		if first.literal != nil && *first.literal == "#" {
			return gives(s, r.howMany(s, e, args[1:]))
		}
		return gives(s, selected(args)...)
	case "ipairs", "pairs", "next", "rawget":
		return gives(s, anything(), anything(), anything())
	case "math.modf", "math.frexp":
		return gives(s, of(isNum), of(isNum))
	case "struct.unpack", "cmsgpack.unpack", "cjson.decode":
		return gives(s, r.unpacks(s, name, args)...)
	case "xpcall":
		return r.protected(s, e, args[:min(len(args), 1)])
	case "rawequal":
		return gives(s, of(isBool))
	case "rawset", "setmetatable":
		return gives(s, first)
	}
	if strings.HasPrefix(name, "math.") {
		return gives(s, r.mathCall(s, e, name, args))
	}
	if strings.HasPrefix(name, "string.") {
		return r.stringCall(s, e, name, args)
	}
	if strings.HasPrefix(name, "table.") {
		return gives(s, r.tableCall(s, e, name, args))
	}
	return gives(s, r.otherCall(s, e, name, args))
}

func (r *run) otherCall(s *state, e *ast.FuncCallExpr, name string, args []value) value {
	switch name {
	case "cjson.encode":
		if len(args) > 0 && holdsNumber(s, args[0]) {
			r.report(r.at(e), RuleNumberText, "cjson.encode writes numbers with 14 digits, and one of these may have more, as a time in microseconds: encode string.format('%%.0f', x), clamp it with math.min and math.max, or store the fields one by one")
		}
		return packedText(s, args)
	case "cmsgpack.pack", "struct.pack":
		return packedText(s, args)
	case "bit.tohex":
		return value{kinds: isStr}
	}
	if strings.HasPrefix(name, "bit.") {
		return r.bitCall(e, name, args)
	}
	return unknown()
}

// holdsNumber reports whether a value or its tables may have a number whose text loses digits.
func holdsNumber(s *state, v value) (found bool) {
	s.eachHeld(v, func(v value) bool {
		found = found || !v.vague() && v.may(isNumber) && !v.printsExactly()
		return !found && !v.vague()
	})
	return found
}

// assert continues the paths on which its condition holds, and raises an error on the others.
func (r *run) assert(s *state, e *ast.FuncCallExpr, args []value) []outcome {
	if len(args) > 1 && valueAt(args, 0).falsy().kinds != 0 {
		r.raises(e, args[1], 1)
	}
	if failed := s.clone(); valueAt(args, 0).falsy().kinds != 0 {
		failed.raised = true
		valueAt(args, 0).learn(failed, false)
		if len(r.frames) == 1 && !r.caught() {
			r.refused(s, r.at(e), "the error of assert")
		}
		if len(e.Args) == 0 {
			r.thrown(failed)
		} else if ok, _ := r.refine(failed, e.Args[0], false); ok {
			r.thrown(failed)
		}
	}
	if len(e.Args) > 0 {
		valueAt(args, 0).learn(s, true)
		if ok, _ := r.refine(s, e.Args[0], true); !ok {
			return nil
		}
	}
	if len(args) > 0 {
		args[0] = args[0].truthy()
		if args[0].kinds == 0 {
			return nil
		}
	}
	return gives(s, args...)
}

// callerNumber reports a text argument that becomes a number at e.
func (r *run) callerNumber(e ast.Expr, v value) {
	if v.param() != "" && v.may(isStr) && v.taint&fromCaller != 0 && !v.digits {
		r.report(r.at(e), RuleCallerNumber, "%s is the caller's text, and Lua takes 'nan', 'inf', '0x10' and ' 5 ' for numbers: declare it as count, micros, duration or time, or test its digits before, as string.match(%s, '^%%d%%d?$')", v.param(), v.param())
	}
}

func (r *run) toNumber(e *ast.FuncCallExpr, v value) value {
	r.callerNumber(e, v)
	out := value{kinds: isNum, reply: v.reply, proof: v.proof.number(), in: v.in, unit: v.unit, left: v.left, minusZero: v.minusZero, taint: v.taint & increased}
	if name := v.name(); name != "" {
		out.rare = &rare{name: name}
	}
	if !out.in.known && v.taint&stored != 0 {
		out.in.ends = bothEnds // a stored number may be any
	}
	switch {
	case v.lenient:
		return anything()
	case v.only(isNumber):
		out.kinds = v.kinds
	case v.digits && v.only(isStr):
		out.kinds = isInt
	default:
		if v.literal != nil && v.only(isStr) {
			if _, ok := parseNumber(*v.literal); ok {
				n := numberLiteral(v.literal)
				n.proof = out.proof
				return n
			}
		}
		out.kinds |= isNil
	}
	return out
}
