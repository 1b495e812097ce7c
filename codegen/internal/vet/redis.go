package vet

import (
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/internal/requires"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

// redisCall checks a call of redis.call or redis.pcall, and returns its reply.
func (w *pass) redisCall(e *ast.FuncCallExpr, exprs []ast.Expr, args []value, rest *value, protected bool) (reply value) {
	if len(args) == 0 {
		if rest == nil || rest.kinds == 0 {
			return value{}
		}
		args = []value{*rest}
	}
	if w.prepared[w.fn] != nil {
		w.report(e, RuleLibraryState, "prepare calls Redis here, but its row is cached for other calls: read the clock and keys in the function")
		return anything()
	}
	for i, v := range args {
		w.callArgument(exprs[min(i, len(exprs)-1)], i, v)
	}
	if rest != nil {
		w.callArgument(exprs[len(exprs)-1], len(args), *rest)
	}
	name := args[0]
	if name.kinds == 0 {
		return value{}
	}
	if name.open || len(name.texts) == 0 {
		w.reportAt(w.blame(exprs[0], func(v value) bool { return v.open || len(v.texts) == 0 })[0].site, RuleDynamicCommand,
			"the command is not a literal, so its keys and its ACL rule are unknown: call each command by name")
		return anything()
	}
	for _, command := range name.texts {
		reply = join(reply, w.command(e, exprs, strings.ToUpper(command), args[1:], rest))
	}
	if protected {
		o := w.object(protectedReply{e})
		o.failed = true
		o.has("err", value{kinds: isString, open: true, traits: fromKey})
		reply = join(reply, table(o))
	}
	return reply
}

type protectedReply struct{ *ast.FuncCallExpr }

// callArgument checks that an argument is surely a string or a number: anything else can crash a server at a later resync.
func (w *pass) callArgument(arg ast.Expr, i int, v value) {
	bad := v.kinds &^ isPlain
	if bad == 0 {
		return
	}
	hint := "test it first"
	switch {
	case bad&isOther != 0:
		hint = "test type(x) == 'string' first"
	case bad&isBool != 0 && v.kinds&^(isBool|isDoubt) == 0:
		hint = "write `flag and 1 or 0`"
	case bad&isTable != 0:
		hint = "pass its fields one by one"
	case v.reply != "" && bad&isDoubt != 0 && v.may(isNumber):
		hint = "write `tonumber(x) or 0`, or test it first"
	case v.reply != "":
		hint = "a missing key or field is false, so test it first"
	}
	for _, p := range w.blame(arg, func(v value) bool { return v.may(bad) }) {
		within := ""
		if p.expr != arg {
			within = " in " + w.fn.name
		}
		w.reportAt(p.site, RuleCallArgument, "%s, argument %d of redis.call%s, may be %s; anything but a string or a number can crash Redis 7.4 and 8.0 at a later resync: %s",
			exprText(p.expr), i+1, within, bad.describe(), hint)
	}
}

// command checks one command and returns its reply.
func (w *pass) command(e *ast.FuncCallExpr, exprs []ast.Expr, name string, args []value, rest *value) value {
	var second *string
	if len(args) > 0 {
		if s, ok := args[0].literal(); ok {
			second = &s
		}
	}
	w.fn.runs(permission(name, second))
	if !w.available(exprs[0], name) {
		return anything()
	}
	if strings.HasPrefix(name, "XREAD") && indexOfWord(args, 0, "BLOCK") >= 0 {
		w.report(e, RuleRefusedCommand, "%s with BLOCK is refused in a function, which holds the whole server: remove BLOCK, and let the client call again", name)
	}
	cmd := commands[name]
	w.form(e, name, args, rest)
	if cmd.write || replicated[name] {
		w.fn.flow.write(name, site{w.file, w.file.at(e)})
	}
	if name == "TIME" && w.file.lib != clockLib {
		w.report(e, RuleClock, "only lib/%s.lua reads TIME, so that tests can move the clock: call %s.now_us() once", clockLib, clockLib)
	}
	arg := func(i int) ast.Expr { return exprs[min(i+1, len(exprs)-1)] }
	keys := cmd.keyPlaces(args)
	hasKeys := func(v value) bool { return len(v.keys) > 0 }
	if cmd.countAt > 0 && len(keys) == 0 && len(args) >= cmd.countAt && (rest == nil || !slices.ContainsFunc(args, hasKeys) && !hasKeys(*rest)) {
		w.report(arg(cmd.countAt-1), RuleUndeclaredKey, "the number of keys of %s is not a literal, so vet does not know which arguments are keys: write the number", name)
	}
	for _, i := range keys {
		w.key(arg(i), cmd, args[i])
	}
	if rest != nil && cmd.last < 0 {
		w.key(exprs[len(exprs)-1], cmd, *rest)
	}
	w.reads(e, name, args, rest)
	w.expiry(e, arg, name, args)
	return w.reply(e, cmd, args)
}

const clockLib = "clock"

// runs notes a command that a function may run.
func (fn *function) runs(name string) {
	if fn.flow.commands == nil {
		fn.flow.commands = map[string]bool{}
	}
	fn.flow.commands[name] = true
}

func (f *flow) write(name string, at site) {
	if f.writes == nil {
		f.writes = map[string]site{}
	}
	if _, ok := f.writes[name]; !ok {
		f.writes[name] = at
	}
}

// available reports whether vet knows a command and every server on which a library that uses the file runs has it.
func (w *pass) available(e ast.Expr, name string) bool {
	if why, ok := refusedCommands[name]; ok {
		w.report(e, RuleRefusedCommand, "a function cannot run %s: %s", name, why)
		return false
	}
	since, newer := newerCommands[name]
	known := commands[name] != nil
	for _, lib := range w.tree.Libraries {
		if !newer || !w.file.partOf(lib) {
			continue
		}
		required := lib.Spec.Requires
		lacking := lacks(required, since)
		switch {
		case required == nil:
			w.report(e, RuleUnknownCommand, "%s is in %s but not in Redis 7.0, which libraries support unless they say @requires", name, since)
			return false
		case lacking != "":
			w.report(e, RuleUnknownCommand, "%s is in %s but not in %s, which the library's @requires allows", name, since, lacking)
			return false
		}
	}
	switch {
	case newer && !known:
		w.report(e, RuleUnknownCommand, "%s is in %s, but vet does not know what it does to its keys: use other commands", name, since)
	case !known:
		w.report(e, RuleUnknownCommand, "unknown Redis command %s%s", name, spelling.DidYouMean(name, commandNames))
	}
	return known
}

// partOf reports whether a file is part of a library.
func (f *file) partOf(lib *source.Library) bool {
	if f.lib == "" {
		return slices.Contains(lib.Files, f.src)
	}
	for _, used := range lib.Libs {
		if used.File == f.src {
			return true
		}
	}
	return false
}

// lacks returns the first of the required servers that lacks a command, which is in since, "Redis 7.4 and Valkey 9.0".
func lacks(required spec.Servers, since string) string {
	for _, server := range required {
		has := false
		for first := range strings.SplitSeq(since, " and ") {
			product, version, _ := strings.Cut(first, " ")
			has = has || (spec.Servers{server}).Met(product, server.Version) && requires.AtLeast(server.Version, version)
		}
		if !has {
			return server.String()
		}
	}
	return ""
}

// form checks that the arguments have a form that the command takes. A table that is unpacked may have any number of elements.
func (w *pass) form(e *ast.FuncCallExpr, name string, args []value, rest *value) {
	f := forms[name]
	if f == nil {
		return
	}
	fits := f.fits(args)
	if rest == nil {
		if !fits {
			of := " in Redis 7.0"
			if newerCommands[name] != "" {
				of = ""
			}
			w.report(e, RuleCommandForm, "%s with %s is not a form of it%s: %s %s", name, countOf(len(args), "argument"), of, name, f.text)
		}
		return
	}
	if fits {
		return
	}
	longer := slices.Clone(args)
	for range 12 {
		longer = append(longer, *rest)
		if f.fits(longer) {
			return
		}
	}
	w.report(e, RuleCommandForm, "%s with these arguments is not a form of it: %s %s", name, name, f.text)
}

// key checks that the header declares a key, with the command's type.
func (w *pass) key(e ast.Expr, cmd *command, v value) {
	undeclared := func(v value) bool {
		return v.kinds != 0 && (len(v.keys) == 0 || v.open || len(v.texts) > 0)
	}
	if undeclared(v) {
		for _, p := range w.blame(e, undeclared) {
			w.reportAt(p.site, RuleUndeclaredKey, "%s uses the key %s, which is not an unchanged @key parameter, and a cluster may hold it on another node: add a @key for each key, all share the hash tag", cmd.name, exprText(p.expr))
		}
		return
	}
	for _, key := range v.keys {
		if cmd.family == "" || key.Redis == cmd.family || key.Redis == "any" || key.Redis == "" {
			continue
		}
		has := func(v value) bool { return slices.Contains(v.keys, key) }
		for _, p := range w.blame(e, has) {
			w.reportAt(p.site, RuleKeyType, "%s requires a %s, but the header declares %s as a %s: Redis would answer WRONGTYPE", cmd.name, cmd.family, key.Lua, key.Redis)
		}
	}
}

// reply returns what a command answers.
func (w *pass) reply(e *ast.FuncCallExpr, cmd *command, args []value) value {
	kind := cmd.reply
	switch cmd.name { // whose reply depends on their arguments
	case "SET":
		kind = repliesStatus
		if hasWord(args, "GET") {
			kind = repliesMaybe
		} else if hasWord(args, "NX", "XX") {
			return join(of(isFalse), w.answer(e, cmd, repliesStatus, args))
		}
	case "ZADD":
		kind = repliesInt
		if hasWord(args, "INCR") {
			kind = repliesMaybe
		}
	case "LPOP", "RPOP":
		kind = repliesMaybe
		if len(args) > 1 {
			v := w.answer(e, cmd, repliesArray, args)
			if !w.sized(e) {
				v.kinds |= isFalse
			}
			return v
		}
	case "SPOP", "SRANDMEMBER", "HRANDFIELD", "ZRANDMEMBER":
		kind = repliesMaybe
		if len(args) > 1 {
			kind = repliesArray
		}
	case "LPOS":
		if !hasWord(args, "COUNT") {
			v := join(of(isNumber), of(isFalse))
			v.reply = cmd.name
			return v
		}
	case "ZRANK", "ZREVRANK":
		v := join(of(isNumber), of(isFalse))
		v.reply = cmd.name
		return v
	case "XADD":
		kind = repliesString
		if hasWord(args, "NOMKSTREAM") {
			kind = repliesMaybe
		}
	}
	return w.answer(e, cmd, kind, args)
}

func (w *pass) answer(e *ast.FuncCallExpr, cmd *command, kind replyKind, args []value) value {
	v := value{reply: cmd.name, open: true}
	switch kind {
	case repliesInt:
		v.kinds = isNumber
		if cmd.name == "PTTL" || cmd.name == "PEXPIRETIME" {
			v.unit = "ms"
		} else if cmd.name == "TTL" || cmd.name == "EXPIRETIME" {
			v.unit = "s"
		}
	case repliesString:
		v.kinds, v.traits = isString, fromKey
	case repliesNumber:
		v.kinds, v.traits = isString, fromKey|score
	case repliesMaybe:
		v.kinds, v.traits = isString|isFalse, fromKey
		if cmd.name == "ZSCORE" || cmd.name == "GEODIST" {
			v.traits |= score
		}
	case repliesStatus:
		o := w.object(e)
		o.has("ok", of(isString))
		if cmd.name == "TYPE" {
			o.fields["ok"].value.traits = fromKey
		}
		v.kinds, v.objs, v.open = isTable, []*object{o}, false
	case repliesTime, repliesArray, repliesGaps:
		o := w.object(e)
		o.reply, o.large = cmd.name, w.readsMany(cmd.name, args)
		elem := value{kinds: isString, open: true, traits: fromKey, reply: cmd.name}
		switch {
		case kind == repliesTime:
			o.least, elem.traits = 2, score
		case cmd.name == "SMISMEMBER" || strings.HasPrefix(cmd.name, "BITFIELD") || kind == repliesArray && strings.HasPrefix(cmd.name, "H") && (strings.Contains(cmd.name, "EXPIRE") || strings.HasSuffix(cmd.name, "TTL") || cmd.name == "HPERSIST"):
			elem.kinds, elem.traits, o.least = isNumber, 0, len(args)
			if cmd.name == "BITFIELD" && hasWord(args, "FAIL") {
				elem.kinds |= isDoubt
			}
		case kind == repliesGaps:
			elem.kinds |= isFalse
			o.least = len(args)
		}
		if cmd.name == "ZMSCORE" {
			elem.traits |= score
		}
		w.grow(&o.elem, elem)
		v.kinds, v.objs, v.open = isTable, []*object{o}, false
	default:
		return w.nested(e, cmd.name, args)
	}
	return v
}

// nested returns replies that hold arrays in arrays.
func (w *pass) nested(e *ast.FuncCallExpr, name string, args []value) value {
	one := value{kinds: isString, open: true, traits: fromKey, reply: name}
	list := func(depth int, elem value) value {
		o := w.object(inner{e, depth})
		o.reply = name
		w.grow(&o.elem, elem)
		v := table(o)
		v.reply = name
		return v
	}
	row := func(depth int, fields ...value) value {
		o := w.object(inner{e, depth})
		o.least = len(fields)
		for i, f := range fields {
			o.has(strconv.Itoa(i+1), f)
		}
		return table(o)
	}
	pairs := list(1, one)
	pairs.objs[0].least = 2
	entries := func() value { return list(3, row(2, one, pairs)) }
	switch name {
	case "XRANGE", "XREVRANGE":
		return entries()
	case "XCLAIM":
		if hasWord(args, "JUSTID") {
			return list(3, one)
		}
		return entries()
	case "XAUTOCLAIM":
		if hasWord(args, "JUSTID") {
			return row(4, one, list(3, one), list(5, one))
		}
		return row(4, one, entries(), list(5, one))
	case "XREAD", "XREADGROUP":
		v := join(list(5, row(4, one, entries())), of(isFalse))
		v.objs[0].least, v.reply = 1, name
		return v
	case "XPENDING":
		number := of(isNumber)
		if len(args) > 2 {
			return list(3, row(2, one, one, number, number))
		}
		return row(4, number, anything(), anything(), anything())
	case "HSCAN", "SSCAN", "ZSCAN":
		return row(4, one, list(3, one))
	}
	v := anything()
	v.reply, v.traits = name, fromKey
	return v
}

type inner struct {
	*ast.FuncCallExpr
	depth int
}
