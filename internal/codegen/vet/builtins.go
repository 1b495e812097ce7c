package vet

import (
	"math"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// libraryMembers maps the global tables of Redis 7.0 to Valkey 9 to their members.
var libraryMembers = map[string]map[string]bool{
	"redis":    set("call pcall log error_reply status_reply sha1hex setresp acl_check_cmd REDIS_VERSION REDIS_VERSION_NUM LOG_DEBUG LOG_VERBOSE LOG_NOTICE LOG_WARNING"),
	"math":     set("abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp huge ldexp log log10 max min modf pi pow rad random randomseed sin sinh sqrt tan tanh"),
	"string":   set("byte char find format gmatch gsub len lower match rep reverse sub upper"),
	"table":    set("concat insert maxn remove sort"),
	"bit":      set("arshift band bnot bor bswap bxor lshift rol ror rshift tobit tohex"),
	"cjson":    set("decode encode null array_mt empty_array encode_keep_buffer encode_max_depth decode_max_depth encode_sparse_array encode_invalid_numbers decode_invalid_numbers encode_number_precision new"),
	"cmsgpack": set("pack unpack unpack_one unpack_limit"),
	"struct":   set("pack unpack size"),
}

// baseFunctions are the global functions.
var baseFunctions = set("assert error ipairs next pairs pcall rawequal rawget select tonumber tostring type unpack xpcall")

// refusedGlobals maps globals of Lua or Redis that functions must not use to the reason.
var refusedGlobals = map[string]string{
	"os": "a function has no operating system: time is clock.now_us()", "io": "a function has no files", "debug": "a function cannot inspect the interpreter",
	"package": "there are no modules: name lib files with @use", "require": "there are no modules: name lib files with @use", "module": "there are no modules: name lib files with @use",
	"dofile": "there are no files", "loadfile": "there are no files", "load": "code is loaded by a deploy only", "loadstring": "code is loaded by a deploy only",
	"coroutine":    "a function cannot yield",
	"getmetatable": "only some servers have it", "setmetatable": "servers differ: use plain functions on plain tables",
	"rawset": "it bypasses metatables", "setfenv": "it changes what a function sees", "getfenv": "it changes what a function sees",
	"newproxy": "newer servers do not have it", "collectgarbage": "the server collects garbage itself", "gcinfo": "the server collects garbage itself",
	"print": "its output is lost: use redis.log", "_G": "a function has no globals of its own", "_VERSION": "servers differ in it",
	"KEYS": "a function has named parameters", "ARGV": "a function has named parameters", "server": "only Valkey has it: call redis",
}

// provided holds the globals of Redis, and providedMembers the members of its tables.
var provided, providedMembers = func() (map[string]*rare, map[string]map[string]*rare) {
	globals, members := map[string]*rare{}, map[string]map[string]*rare{}
	for name := range baseFunctions {
		globals[name] = builtin(name)
	}
	for table, names := range libraryMembers {
		globals[table], members[table] = builtin(table), map[string]*rare{}
		for name := range names {
			members[table][name] = builtin(table + "." + name)
		}
	}
	return globals, members
}()

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

func (r *run) mathCall(s *state, e *ast.FuncCallExpr, name string, args []value) value {
	for i, v := range args {
		if !v.only(isNumber) {
			r.needs(s, v, argument(e, i), "calculate with")
			r.callerNumber(argument(e, i), v)
		}
	}
	first := valueAt(args, 0)
	out := of(isNum)
	list := make([]interval, len(args))
	for i, v := range args {
		if list[i] = v.interval(); !list[i].known && v.unit.isTime() {
			list[i] = between(0, math.Inf(1))
		}
		out.reply = union(out.reply, v.reply)
		out.content = out.content || v.content
	}
	out.in = rounded(name, list)
	for _, v := range args {
		if out.left == 0 {
			out.left = v.left
		}
		out.product = out.product || v.product
		out.minusZero = out.minusZero || v.minusZero && name != "math.abs" && name != "math.exp"
	}
	r.inDomain(argument(e, 0), name, first)
	switch name {
	case "math.fmod":
		if len(args) == 2 {
			r.notZero(e, argument(e, 1), args[1])
		}
	case "math.ceil":
		if in := first.interval(); in.known && first.may(isFrac) && in.low < 0 && in.high > -1 {
			out.minusZero = true
		}
	case "math.max", "math.min":
		if len(args) == 2 {
			r.inOneScale(e, argument(e, 0), argument(e, 1), args[0], args[1])
			out.proof = chosenProof(name, args[0], args[1])
		}
		outlasts := false // the result ends no earlier than the key does
		for _, v := range args {
			if out.span() == "" && r.here().lib == "" {
				out.setSpan(v.span())
			}
			outlasts = outlasts || name == "math.max" && v.left != 0 && v.span() == ""
		}
		if outlasts {
			out.setSpan("")
		}
	}
	switch name {
	case "math.floor", "math.ceil", "math.max", "math.min":
		out.unit = sameUnit(args)
	}
	switch name {
	case "math.floor", "math.ceil":
		out.kinds = isInt
		out.taint = first.taint & (adrift | setBack)
		out.setSpan(first.span())
		out.floored = name == "math.floor" && first.may(isFrac)
	case "math.max", "math.min", "math.abs", "math.fmod":
		out.kinds = 0
		if len(args) == 0 {
			out.kinds = isInt
		}
		for _, v := range args {
			out.kinds |= v.numbers()
			if name == "math.min" {
				out.taint |= v.taint & setBack
				out.floored = out.floored || v.floored
				if _, fixed := v.number(); fixed {
					out.content = false // the literal is a bound
				}
			}
		}
	}
	return out
}

// stringCall runs a function of the string library. Its results keep the taint of their arguments, until a gsub cleans them.
func (r *run) stringCall(s *state, e *ast.FuncCallExpr, name string, args []value) []outcome {
	first := valueAt(args, 0)
	out := value{kinds: isStr}
	for i, v := range args {
		if v.may(isStr) || v.vague() {
			out.taint |= v.taint &^ stored
		}
		if !v.only(isNumber) {
			r.needs(s, v, argument(e, i), "make text of")
		}
	}
	switch name {
	case "string.format":
		return gives(s, r.format(e, args, out))
	case "string.len":
		return gives(s, of(isInt))
	case "string.byte":
		code := of(isInt | isNil)
		code.in = between(0, 255)
		return gives(s, code, code, code, code)
	case "string.find":
		vals := []value{of(isInt | isNil), of(isInt | isNil)}
		for _, v := range captures(args, out.taint, 3) {
			v.kinds |= isNil
			vals = append(vals, v)
		}
		if p := first.proof.unmatched(valueAt(args, 1)); p != nil {
			for i := range vals {
				vals[i].proof = p
			}
		}
		return gives(s, vals...)
	case "string.match":
		return r.match(s, args, out.taint)
	case "string.gsub":
		out.taint = first.taint | valueAt(args, 2).taint
		if p := valueAt(args, 1).literal; p != nil && replaces(*p, '\r') && replaces(*p, '\n') {
			out.taint = valueAt(args, 2).taint
		}
		return gives(s, out, of(isInt))
	case "string.sub", "string.lower", "string.upper", "string.rep", "string.reverse":
		if first.may(isNumber) {
			r.numberText(first, argument(e, 0), name)
		}
	}
	return gives(s, out)
}

// match returns what a pattern captures, or nil for all of it.
func (r *run) match(s *state, args []value, t taint) []outcome {
	hit, proof := captures(args, t, 5), valueAt(args, 0).proof.unmatched(valueAt(args, 1))
	miss := make([]value, len(hit))
	for i := range miss {
		miss[i] = of(isNil)
		hit[i].proof, miss[i].proof = proof, proof
	}
	return []outcome{{s: s.clone(), vals: miss}, {s: s, vals: hit}}
}

// captures returns a value for each capture of the pattern, argument 1: a string, or the number that `()` gives. Of an unknown pattern it
// returns that many strings.
func captures(args []value, t taint, unknown int) (out []value) {
	p := valueAt(args, 1).literal
	if p == nil {
		return slices.Repeat([]value{{kinds: isStr, taint: t}}, unknown)
	}
	for i := 0; i < len(*p); i++ {
		switch {
		case (*p)[i] == '%':
			i++
		case strings.HasPrefix((*p)[i:], "()"):
			out = append(out, of(isInt))
		case (*p)[i] == '(':
			out = append(out, value{kinds: isStr, taint: t})
		}
	}
	if len(out) == 0 {
		out = []value{{kinds: isStr, taint: t}}
	}
	return out
}

// format checks the conversions of string.format, because %s of a number is tostring.
func (r *run) format(e *ast.FuncCallExpr, args []value, out value) value {
	pattern := valueAt(args, 0)
	out.taint = pattern.taint
	if pattern.literal == nil {
		for _, v := range args {
			out.taint |= v.taint
		}
		return out
	}
	if prefix, _, converts := strings.Cut(*pattern.literal, "%"); converts {
		out.setPrefix(prefix)
	} else {
		out.fixed = true
		out.literal = pattern.literal
	}
	at := 1
	for i := 0; i < len(*pattern.literal); i++ {
		if (*pattern.literal)[i] != '%' {
			continue
		}
		for i++; i < len(*pattern.literal) && strings.IndexByte("-+ #0123456789.", (*pattern.literal)[i]) >= 0; i++ {
			continue
		}
		if i >= len(*pattern.literal) || (*pattern.literal)[i] == '%' {
			continue
		}
		v := valueAt(args, at)
		if strings.IndexByte("fgGeE", (*pattern.literal)[i]) >= 0 {
			r.negativeZero(argument(e, at), v)
			r.inRange(argument(e, at), v, true)
			if in := v.interval(); *pattern.literal == "%.0f" && !v.minusZero && in.known && v.may(isFrac) && in.low < 0 && in.high >= -0.5 && r.sees(v) {
				v.minusZero = true
				r.negativeZero(argument(e, at), v)
			}
		}
		if c := (*pattern.literal)[i]; c == 's' || c == 'q' {
			r.numberText(v, argument(e, at), "%"+string(c))
			r.formatText(argument(e, at), v, string(c))
			out.taint |= v.taint
		}
		at++
	}
	return r.formatted(*pattern.literal, valueAt(args, 1), out)
}

// formatText reports a text that may hold a NUL, where %s ends.
func (r *run) formatText(e ast.Expr, v value, conversion string) {
	if v.taint&(fromCaller|fromStore) == 0 || !v.may(isStr) || v.lenient {
		return
	}
	node, at := r.origin(e)
	r.report(at, RuleFormatText, "%%%s ends at a NUL, and %s has %s: join it with `..`", conversion, exprText(node), v.taint.describe())
}

func (r *run) tableCall(s *state, e *ast.FuncCallExpr, name string, args []value) value {
	first := valueAt(args, 0)
	switch name {
	case "table.concat":
		elem := r.elements(s, first)
		if !first.lenient && !elem.vague() && elem.may(isNumber) && !elem.printsExactly() {
			r.report(r.at(e), RuleNumberText, "table.concat writes numbers with 14 digits, so a time in microseconds becomes 1.7637064671235e+15: put string.format('%%.0f', x) into the table")
		}
		if elem.taint&fromStore != 0 {
			elem.taint |= packs
		}
		return value{kinds: isStr, taint: elem.taint}
	case "table.insert":
		added := valueAt(args, len(args)-1)
		for _, id := range first.objects {
			before, o := s.get(id), s.object(id)
			r.written(o, e, argument(e, 0))
			o.filled = -1
			if len(args) == 3 {
				r.fills(o, argument(e, 1))
			}
			more := o.size.plus(1)
			if added.may(isNil) && !added.vague() || len(first.objects) > 1 {
				more = more.or(o.size)
			}
			o.size = more
			if len(args) == 2 && len(first.objects) == 1 {
				r.push(o, before, added)
			} else {
				r.append(o, added)
			}
		}
		s.forgetField("", len(first.objects) > 0)
		return of(isNil)
	case "table.sort":
		for _, id := range first.objects {
			r.written(s.object(id), e, argument(e, 0))
		}
	case "table.remove":
		none := empty(s, first)
		v := r.elements(s, first)
		for _, id := range first.objects {
			o := s.object(id)
			r.written(o, e, argument(e, 0))
			less := o.size.removed()
			if len(first.objects) > 1 {
				less = less.or(o.size)
			}
			o.size = less
			r.append(o, v)
		}
		s.forgetField("", len(first.objects) > 0)
		if none {
			return of(isNil)
		}
		v.kinds |= isNil
		return v
	case "table.maxn":
		return of(isInt)
	}
	return of(isNil)
}
