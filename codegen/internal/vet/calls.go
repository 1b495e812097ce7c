package vet

import (
	"maps"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"github.com/rlfunc/rlfunc/codegen/internal/command"
	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

// redisCall checks what a call gives to Redis.
func (f *file) redisCall(e *ast.FuncCallExpr, exprs []ast.Expr, fn *function) {
	if len(exprs) == 0 {
		return
	}
	args := f.values(exprs)
	for i, s := range args { // what is not surely a text or a number can crash a server at a later resync
		is := "nil, a bool or a table: test it first, or write `x and 1 or 0`"
		switch {
		case s.kinds&(isNone|isOther) == 0, i == len(args)-1 && isOpen(exprs[i]) && s.reply == "":
			continue
		case s.kinds&isOther == 0 && s.reply != "":
			is = "false, where a key or a field is missing: test it first"
		}
		f.report(f.at[exprs[i]], "call-argument", "%s, argument %d of redis.call, must be a string or a number, or Redis 7.4 and 8.0 can crash at a later resync. It may be %s", exprText(exprs[i]), i+1, is)
	}
	names := command.Literals(exprs[0])
	if names == nil {
		f.report(f.at[exprs[0]], "dynamic-command", "the command is not a literal, so its ACL rule and whether it writes are unknown: call each command by name")
	}
	for _, name := range names {
		f.command(e, exprs, name, args[1:], fn)
	}
}

// command checks one command.
func (f *file) command(e *ast.FuncCallExpr, exprs []ast.Expr, name string, args []shape, fn *function) {
	at := f.at[exprs[0]]
	if why, ok := refusedCommands[name]; ok {
		f.report(at, "refused-command", "a function cannot run %s: %s", name, why)
		return
	}
	switch since, newer := newerCommands[name]; {
	case newer:
		f.report(at, "unknown-command", "%s is in %s but not in Redis 7.0, which libraries support: if yours are newer, ignore this with a reason", name, since)
		return
	case commands[name] == nil:
		f.report(at, "unknown-command", "unknown Redis command %s%s", name, spelling.DidYouMean(name, slices.Sorted(maps.Keys(commands))))
		return
	}
	if strings.HasPrefix(name, "XREAD") && wordAt(args, "BLOCK") >= 0 {
		f.report(f.at[e], "refused-command", "%s with BLOCK is refused in a function, which holds the whole server: remove BLOCK, and let the client call again", name)
	}
	if name == "TIME" && f.lib != "clock" {
		f.report(f.at[e], "clock", "only lib/clock.lua reads TIME, so that tests can move the clock: call clock.now_us() once")
	}
	if c := f.header; c != nil && c.Has("no-writes") && commands[name].write {
		f.report(f.at[e], "no-writes", "%s has the flag no-writes, and %s writes or is replicated: Redis refuses it at run time; remove the flag or the command", c.Name, name)
	}
	f.form(e, exprs, name, args)
	if wholeContent(name, args) && !isOpen(exprs[len(exprs)-1]) && !f.sized(exprs[1:], fn) {
		f.report(f.at[e], "key-loop", "%s reads all that its key holds, and the server waits: bound it by a count or a range, test the key's size, or say why it is small with `-- rlfunc:ignore key-loop reason`", name)
	}
	for i := 1; i < len(args); i++ {
		word := name
		if name == "SET" || name == "GETEX" {
			word = strings.ToUpper(args[i-1].lead)
		}
		takes, is := expiryUnits[word], args[i].unit
		if takes != "" && is != "" && is != takes && (word != name || i == 1) {
			f.report(f.at[exprs[i+1]], "unit", "%s is in %s, and %s takes %s", exprText(exprs[i+1]), unitNames[is], word, unitNames[takes])
		}
	}
}

// expiryUnits are those of commands whose second argument is a time to live, and of words in front of one.
var expiryUnits = map[string]string{
	"EXPIRE": "s", "EXPIREAT": "s", "SETEX": "s", "HEXPIRE": "s", "EX": "s", "EXAT": "s",
	"PEXPIRE": "ms", "PEXPIREAT": "ms", "PSETEX": "ms", "HPEXPIRE": "ms", "PX": "ms", "PXAT": "ms",
}

var unitNames = map[string]string{"us": "microseconds", "ms": "milliseconds", "s": "seconds"}

// form checks that the arguments have a form that the command takes. The last may stand for any number.
func (f *file) form(e *ast.FuncCallExpr, exprs []ast.Expr, name string, args []shape) {
	form := forms[name]
	if form == nil || form.fits(args) {
		return
	}
	if isOpen(exprs[len(exprs)-1]) {
		args = args[:len(args)-1]
		for range 12 {
			if form.fits(args) {
				return
			}
			args = append(args, unknown())
		}
	}
	f.report(f.at[e], "command-form", "%s with these %d arguments is not a form of it: %s %s", name, len(exprs)-1, name, form.text)
}

// wordAt is the place of a word among arguments, or -1.
func wordAt(args []shape, words ...string) int {
	return slices.IndexFunc(args, func(s shape) bool { return s.whole && slices.Contains(words, strings.ToUpper(s.lead)) })
}

// reply is what the literals of a command show of its reply.
func reply(args []shape) shape {
	name := strings.ToUpper(args[0].lead)
	c := commands[name]
	if c == nil || !args[0].whole {
		return unknown()
	}
	out := shape{reply: name, kinds: isOther}
	switch c.reply {
	case 'i':
		out.kinds, out.number, out.unit = isPlain, true, replyUnits[name]
		if wordAt(args, "INCR") > 0 { // of ZADD
			out.kinds |= isNone
		}
	case 's', 'f':
		out.kinds, out.data = isPlain, true
	case 'm':
		out.kinds, out.data = isPlain|isNone, true
	case '?':
		out.kinds = isUnknown
	default:
		out.large = wholeContent(name, args[1:]) || slices.ContainsFunc(args, func(s shape) bool { return s.number && len(strings.TrimPrefix(s.lead, "-")) > 3 && s.lead != "1000" })
	}
	return out
}

var replyUnits = map[string]string{"PTTL": "ms", "PEXPIRETIME": "ms", "TTL": "s", "EXPIRETIME": "s"}

// wholeContent reports whether a command reads as much as its key holds.
func wholeContent(name string, args []shape) bool {
	switch bound := commands[name].whole; {
	case bound != "0:-1":
		return bound == "*" || bound != "" && wordAt(args, bound) < 0
	case wordAt(args, "BYSCORE", "BYLEX") >= 0:
		return wordAt(args, "LIMIT") < 0
	}
	return wordAt(args, "0") == 1 && wordAt(args, "-1") == 2
}

var sizes = set("LLEN HLEN SCARD ZCARD XLEN LTRIM ZREMRANGEBYRANK XTRIM")

// sized reports whether the function asks for the size of a command's key, or trims it.
func (f *file) sized(exprs []ast.Expr, fn *function) bool {
	return len(exprs) > 0 && slices.ContainsFunc(f.nodes, func(n node) bool {
		e, ok := n.is.(*ast.FuncCallExpr)
		if !ok || n.fn != fn {
			return false
		}
		args, ok := command.Arguments(e)
		return ok && len(args) > 1 && exprText(args[1]) == exprText(exprs[0]) && slices.ContainsFunc(command.Literals(args[0]), func(name string) bool { return sizes[name] })
	})
}

// digits reports a number that loses digits where it becomes text.
func (f *file) digits(e ast.Expr, by string) {
	if s := f.shape(e); s.number && s.long {
		f.report(f.at[e], "number-text", "%s keeps only 14 digits of a number, and %s may have more: write string.format('%%.0f', x), or '%%.17g' for a fraction", by, exprText(e))
	}
}

// sameUnit reports two values of different units.
func (f *file) sameUnit(at position, lhs, rhs ast.Expr) {
	if a, b := f.shape(lhs).unit, f.shape(rhs).unit; a != "" && b != "" && a != b {
		f.report(at, "unit", "%s is in %s and %s in %s: convert one of them", exprText(lhs), unitNames[a], exprText(rhs), unitNames[b])
	}
}

// named reports a value that gets a name with another unit.
func (f *file) named(e ast.Expr, name, of string) {
	if u, is := unitOf(name), f.shape(e).unit; u != "" && is != "" && u != is {
		f.report(f.at[e], "unit", "%s is in %s, and %s%s says %s: convert it, or correct the name", exprText(e), unitNames[is], name, of, unitNames[u])
	}
}

// returned compares the results of a public function with its header.
func (f *file) returned(s *ast.ReturnStmt) {
	for i, e := range s.Exprs {
		if i >= len(f.header.Results) {
			break
		}
		r, u := f.header.Results[i], f.shape(e).unit
		if (r.Kind == spec.KindDuration || r.Kind == spec.KindTime) && u != "" && u != "us" {
			f.report(f.at[e], "unit", "result %s is in microseconds, and this is in %s: convert it", r.Name, unitNames[u])
		}
	}
}
