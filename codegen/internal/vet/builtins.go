package vet

import (
	"regexp"
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

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

// method calls a method: of a string, or of a table of the author's.
func (w *pass) method(e *ast.FuncCallExpr) []tuple {
	receiver := w.one(e.Receiver)
	w.usable(e.Receiver, receiver, isString|isTable, "index")
	args := append([]ast.Expr{e.Receiver}, e.Args...)
	if receiver.may(isString) && libraryMembers["string"][e.Method] {
		return w.provide(e, "string."+e.Method, args)
	}
	var callee value
	for _, o := range receiver.objs {
		callee = join(callee, o.field(e.Method))
	}
	vals, rest := w.arguments(args)
	return w.apply(callee, e, args, vals, rest)
}

// simple are functions that give the same types whatever they get.
var simple = map[string][]value{
	"rawequal": {of(isBool)}, "next": {anything(), anything()}, "rawget": {anything()}, "math.modf": {of(isNumber), of(isNumber)}, "math.frexp": {of(isNumber), of(isNumber)},
	"string.gmatch": {of(isFunc)}, "string.len": {of(isNumber)}, "struct.size": {of(isNumber)},
}

// provide calls a function of Lua or Redis.
func (w *pass) provide(e *ast.FuncCallExpr, name string, exprs []ast.Expr) []tuple {
	if w.fn.parent == nil && strings.HasPrefix(name, "redis.") {
		if name == "redis.log" {
			w.report(e, RuleLoadLog, "redis.log while the library loads aborts Valkey 9.1: log inside the function")
		} else {
			w.report(e, RuleLoadCall, "%s does not exist while Redis loads the library: call it inside the function", name)
		}
		return gives(anything())
	}
	if w.fn.parent == nil && e.Func != nil {
		w.one(e.Func) // which reports it
	}
	if w.fn.flow.provided == nil {
		w.fn.flow.provided = &provided{site{w.file, w.file.at(e)}, name}
	}
	switch name {
	case "redis.call", "redis.pcall":
		args, rest := w.arguments(exprs)
		return gives(w.redisCall(e, exprs, args, rest, name == "redis.pcall"))
	case "pcall", "xpcall":
		return w.protected(e, name, exprs)
	case "tonumber":
		return w.tonumber(e, exprs)
	}
	args, rest := w.arguments(exprs)
	arg := func(i int) value {
		switch {
		case i < len(args):
			return args[i]
		case rest != nil:
			return *rest
		}
		return of(isNil)
	}
	at := func(i int) ast.Expr {
		if i < len(exprs) {
			return exprs[i]
		}
		return e
	}
	text := value{kinds: isString, open: true}
	for i := range args {
		text.traits |= arg(i).traits & (fromCaller | fromKey)
		if len(arg(i).keys) > 0 {
			text.traits |= fromKey
		}
	}
	if kinds := simple[name]; kinds != nil {
		return gives(kinds...)
	}
	if strings.HasPrefix(name, "math.") && slices.ContainsFunc(args, func(v value) bool { return v.kinds == 0 }) {
		return gives(value{})
	}
	switch name {
	case "error", "assert":
		w.raises(e, name, exprs, args)
		if name == "error" || arg(0).only(falsy) {
			w.env.dead = true
			return gives(value{})
		}
		if len(exprs) > 0 {
			w.refine(exprs[0], true)
		}
		return gives(truthy(arg(0)), arg(1))
	case "tostring":
		w.digits(at(0), arg(0), "tostring")
		if s, ok := arg(0).literal(); ok && arg(0).only(isString) {
			text.texts, text.open = []string{s}, false
		}
		return gives(text)
	case "unpack":
		return w.unpacked(e, exprs, args)
	case "select":
		any := joinAll(args[min(1, len(args)):])
		if rest != nil {
			any = join(any, *rest)
		}
		if s, ok := arg(0).literal(); ok && s == "#" {
			return gives(of(isNumber))
		}
		return []tuple{{vals: []value{any}, rest: &any}}
	case "ipairs", "pairs":
		return gives(of(isFunc), arg(0), of(isNumber))
	case "math.floor", "math.ceil":
		w.number(at(0), arg(0), "calculate with")
		return gives(value{kinds: isNumber, open: true, traits: arg(0).traits & (long | span), unit: arg(0).unit})
	case "math.max", "math.min":
		out := value{kinds: isNumber, open: true}
		for i := range args {
			w.number(at(i), arg(i), "calculate with")
			out.traits |= arg(i).traits & long
			if i == 0 || out.unit == "" {
				out.unit = arg(i).unit
			} else if arg(i).unit != "" && arg(i).unit != out.unit {
				w.sameUnit(e, at(0), at(i), arg(0), arg(i))
			}
			if constant, ok := arg(i).literal(); ok && name == "math.min" {
				if n, _ := number(constant); n <= 1e14 {
					out.traits &^= long
				}
			}
		}
		return gives(out)
	case "string.format":
		w.formatted(e, exprs, args)
		if s, ok := arg(0).literal(); ok {
			text.lead, _, _ = strings.Cut(s, "%")
		}
		return gives(text)
	case "string.gsub":
		if p, ok := arg(1).literal(); ok && cleans(p) {
			text.traits = 0
		}
		w.callback(arg(2), text)
		text.lead = arg(0).lead
		return gives(text, of(isNumber))
	case "string.match":
		w.usable(at(0), arg(0), isPlain, "make text of")
		return matched(arg(1), text)
	case "string.find":
		w.usable(at(0), arg(0), isPlain, "make text of")
		captured := of(isString)
		return []tuple{{vals: []value{of(isNil)}}, {vals: []value{of(isNumber), of(isNumber)}, rest: &captured}}
	case "string.byte":
		rest := of(isNumber)
		return []tuple{{vals: []value{of(isNumber)}, rest: &rest}}
	case "string.rep", "string.sub", "string.lower", "string.upper", "string.reverse", "string.char":
		w.usable(at(0), arg(0), isPlain, "make text of")
		return gives(text)
	case "table.insert":
		w.inserted(e, exprs, args)
		return []tuple{{}}
	case "table.remove":
		w.libraryState(e, at(0), arg(0))
		out := value{}
		for _, o := range arg(0).objs {
			out = join(out, o.elem.value)
		}
		out.kinds |= isDoubt
		return gives(out)
	case "table.concat":
		for _, o := range arg(0).objs {
			text.traits |= o.elem.traits & (fromCaller | fromKey)
			w.digits(at(0), o.elem.value, "table.concat")
		}
		return gives(text)
	case "table.sort":
		w.libraryState(e, at(0), arg(0))
		for _, o := range arg(0).objs {
			for _, fn := range arg(1).fns {
				w.pass(fn, e, nil, []value{o.elem.value, o.elem.value}, nil)
			}
		}
		return []tuple{{}}
	case "cjson.decode", "cmsgpack.unpack":
		out := anything()
		out.traits = arg(0).traits
		return gives(out)
	case "cjson.encode":
		w.encoded(at(0), arg(0), 0)
		return gives(text)
	case "type", "struct.pack", "cmsgpack.pack", "redis.sha1hex", "bit.tohex":
		return gives(text)
	case "struct.unpack":
		return unpackedStruct(arg(0))
	case "redis.error_reply", "redis.status_reply":
		o := w.object(e)
		if name == "redis.status_reply" {
			o.has("ok", arg(0))
			return gives(table(o))
		}
		o.has("err", arg(0))
		w.errorText(at(0), arg(0))
		return gives(table(o))
	case "redis.log":
		return []tuple{{}}
	}
	switch group, _, _ := strings.Cut(name, "."); group {
	case "math", "bit":
		for i := range args {
			w.number(at(i), arg(i), "calculate with")
		}
		return gives(of(isNumber))
	}
	rest = &value{kinds: isOther, open: true}
	return []tuple{{rest: rest}}
}

var luaClasses = strings.NewReplacer(`\`, `\\`, "%a", "[:alpha:]", "%c", "[:cntrl:]", "%d", "[:digit:]", "%l", "[:lower:]", "%p", "[:punct:]", "%s", "[:space:]",
	"%u", "[:upper:]", "%w", "[:alnum:]", "%-", `\-`, "%", `\`)

// cleans reports whether gsub with a pattern replaces CR and LF: it is one class or one set.
func cleans(pattern string) bool {
	set := strings.TrimSuffix(pattern, "+")
	if len(set) == 2 && set[0] == '%' {
		if set = "[" + strings.ToLower(set) + "]"; pattern[1] < 'a' {
			set = "[^" + set[1:]
		}
	}
	re, err := regexp.Compile("^" + luaClasses.Replace(set) + "$")
	return err == nil && strings.HasPrefix(set, "[") && re.MatchString("\r") && re.MatchString("\n")
}

// tonumber gives nil for a text that is none. Of what a key holds, that is only in doubt: the library wrote it.
func (w *pass) tonumber(e *ast.FuncCallExpr, exprs []ast.Expr) []tuple {
	args, _ := w.arguments(exprs)
	if len(args) == 0 {
		return gives(of(isNil))
	}
	v := args[0]
	if v.kinds == 0 {
		return gives(v)
	}
	out := value{kinds: isNumber, open: true, unit: v.unit, traits: v.traits&long | loose, reply: v.reply}
	switch {
	case v.only(isNumber):
		return gives(v)
	case v.kinds&(falsy|isOther) != 0 && v.reply != "":
		out.kinds |= v.kinds & (isFalse | isNil | isDoubt | isOther)
		if out.may(isFalse) {
			out.kinds = out.kinds&^isFalse | isNil
		}
	case v.kinds&(isNil|isFalse|isTable|isTrue|isFunc|isOther) != 0:
		out.kinds |= isNil
	}
	if s, ok := v.literal(); ok && v.only(isString) {
		if _, fine := number(s); fine {
			out.texts, out.open = []string{s}, false
			return gives(out)
		}
	}
	if v.may(isString) && v.traits&score == 0 {
		if v.reply == "" && v.traits&fromKey == 0 && v.lead == "" && !v.may(isDoubt) {
			out.kinds |= isNil
		}
		out.kinds |= isDoubt
	}
	out.kinds &^= isOther
	return gives(out)
}

// protected calls pcall or xpcall: true and the results, or false and the error.
func (w *pass) protected(e *ast.FuncCallExpr, name string, exprs []ast.Expr) (out []tuple) {
	failed := tuple{vals: []value{of(isFalse), anything()}}
	if len(exprs) == 0 {
		return []tuple{failed}
	}
	callee := w.one(exprs[0])
	rest := exprs[1:]
	if name == "xpcall" && len(rest) > 0 {
		w.one(rest[0])
		rest = rest[1:]
	}
	args, more := w.arguments(rest)
	for _, t := range w.apply(callee, e, rest, args, more) {
		t.vals = append([]value{of(isTrue)}, t.vals...)
		out = append(out, t)
	}
	w.env.dead = false // an error ends here
	return append(out, failed)
}

// iterates returns what a for gets of each turn.
func (w *pass) iterates(e *ast.FuncCallExpr) []value {
	if e.Func == nil || !w.file.provided(e.Func) {
		w.multi(e)
		if e.Func == nil && e.Method == "gmatch" {
			return []value{of(isString), of(isString), of(isString)}
		}
		return nil
	}
	args, _ := w.arguments(e.Args)
	w.provide(e, exprText(e.Func), e.Args)
	switch exprText(e.Func) {
	case "ipairs":
		if len(args) == 0 {
			return nil
		}
		w.usable(e.Args[0], args[0], isTable, "loop over")
		elem := value{}
		for _, o := range args[0].objs {
			elem = join(elem, o.elem.value)
		}
		if args[0].may(isOther) {
			elem = anything()
		}
		return []value{of(isNumber), elem.without(isNil | isDoubt)}
	case "string.gmatch":
		return []value{of(isString), of(isString), of(isString)}
	}
	return nil
}

func (w *pass) callback(v, arg value) {
	for _, fn := range v.fns {
		w.pass(fn, fn.expr, nil, []value{arg, arg, arg}, nil)
	}
}

// matched returns what string.match gives: all captures, or nil.
func matched(pattern, text value) []tuple {
	p, known := pattern.literal()
	if !known {
		return []tuple{{vals: []value{of(isNil)}}, {vals: []value{text}, rest: &text}}
	}
	var captures []value
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '%':
			i++
		case '[':
			for i++; i < len(p) && (p[i] != ']' || p[i-1] == '['); i++ {
				if p[i] == '%' {
					i++
				}
			}
		case '(':
			capture := text
			digits := strings.HasPrefix(p[i:], "(%d+)") || strings.HasPrefix(p[i:], "([1-9]%d*)")
			if strings.HasPrefix(p[i:], "()") {
				capture = of(isNumber)
			} else if digits {
				capture.traits = score // tonumber never fails
			}
			captures = append(captures, capture)
		}
	}
	if captures == nil {
		captures = []value{text}
	}
	none := make([]value, len(captures))
	for i := range none {
		none[i] = of(isNil)
	}
	return []tuple{{vals: none}, {vals: captures}}
}

// unpackedStruct returns the values of a format, and where it ends.
func unpackedStruct(format value) []tuple {
	f, known := format.literal()
	if !known {
		any := value{kinds: isPlain, open: true}
		return []tuple{{rest: &any}}
	}
	var vals []value
	for i := 0; i < len(f); i++ {
		switch c := f[i]; {
		case c == '!':
			for i+1 < len(f) && f[i+1] >= '0' && f[i+1] <= '9' {
				i++
			}
		case strings.IndexByte("bBhHlLTiIfdjJn", c) >= 0:
			vals = append(vals, of(isNumber))
		case c == 's', c == 'c':
			if c == 'c' && i+1 < len(f) && f[i+1] == '0' && len(vals) > 0 {
				vals = vals[:len(vals)-1] // its length
			}
			vals = append(vals, value{kinds: isString, open: true, traits: fromKey})
		}
	}
	return gives(append(vals, of(isNumber))...)
}

// inserted adds an element to a table.
func (w *pass) inserted(e *ast.FuncCallExpr, exprs []ast.Expr, args []value) {
	if len(args) < 2 {
		return
	}
	w.usable(exprs[0], args[0], isTable, "add to")
	w.libraryState(e, exprs[0], args[0])
	for _, o := range args[0].objs {
		w.grow(&o.elem, args[len(args)-1].without(isNil))
	}
}

// formatted checks string.format.
func (w *pass) formatted(e *ast.FuncCallExpr, exprs []ast.Expr, args []value) {
	if len(args) == 0 {
		return
	}
	if args[0].traits&(fromCaller|fromKey) != 0 || len(args[0].keys) > 0 {
		w.report(exprs[0], RuleFormatText, "the format has bytes of the caller or of a key, and a %% in it is an error: write string.format('%%s', x)")
	}
	format, ok := args[0].literal()
	if !ok {
		return
	}
	n := 0
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		for i++; i < len(format) && strings.IndexByte("0123456789.-+ #", format[i]) >= 0; i++ {
		}
		if i >= len(format) || format[i] == '%' {
			continue
		}
		if n++; n >= len(args) {
			continue
		}
		switch v := args[n]; format[i] {
		case 's', 'q':
			if format[i] == 's' && v.only(isString) && v.arg != nil {
				w.report(exprs[min(n, len(exprs)-1)], RuleFormatText, "%%s ends a text of the caller at its first zero byte on real servers: join it with ..")
			}
			w.digits(exprs[min(n, len(exprs)-1)], v, "%s")
		case 'd', 'f', 'g', 'e', 'i', 'u', 'x', 'X', 'c', 'G', 'E':
			w.number(exprs[min(n, len(exprs)-1)], v, "format")
		}
	}
	if n > len(args)-1 && len(exprs) == len(args) && !slices.ContainsFunc(exprs, open) {
		w.report(e, RuleMaybeNil, "the format needs %s, and this passes %d", countOf(n, "value"), len(args)-1)
	}
}

// encoded reports numbers that cjson.encode cuts.
func (w *pass) encoded(e ast.Expr, v value, depth int) {
	w.digits(e, v, "cjson.encode")
	if v.may(isOther) && v.traits&fromKey != 0 {
		return
	}
	if depth > 3 {
		return
	}
	for _, o := range v.objs {
		for _, name := range slices.Sorted(keysOf(o.fields)) {
			w.encoded(e, o.fields[name].value, depth+1)
		}
		w.encoded(e, o.elem.value, depth+1)
	}
}
