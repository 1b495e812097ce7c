package vet

import (
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/internal/requires"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

// redisCall runs redis.call or redis.pcall.
func (r *run) redisCall(s *state, e *ast.FuncCallExpr, args []value, protected bool) (out []outcome) {
	if len(args) == 0 || r.loading {
		return gives(s, unknown())
	}
	if r.preparing != "" {
		r.report(r.at(e), RuleLibraryState, "%s.prepare calls Redis here, but its row is cached for other calls: read the clock and keys in the function", r.preparing)
		return gives(s, unknown())
	}
	r.callArguments(e, args)
	if args[0].literal == nil {
		if !args[0].lenient || r.spec != nil {
			r.report(r.at(argument(e, 0)), RuleDynamicCommand, "the command is not a literal, so its keys and its ACL rule are unknown: call each command by name")
		}
		return gives(s, unknown())
	}
	name := strings.ToUpper(*args[0].literal)
	var second *string
	if len(args) > 1 {
		second = args[1].literal
	}
	r.c.ran[permission(name, second)] = true
	cmd := commands[name]
	if !r.available(e, name) {
		return gives(s, r.silencedReply(s, e, name, args[1:]))
	}
	args = args[1:]
	r.commandForm(s, e, name, args)
	if (cmd.write || replicated[name]) && r.spec != nil && r.spec.Has("no-writes") {
		r.readOnly(e, cmd)
	}
	if name == "TIME" {
		r.clock(s, e)
	}
	keys := cmd.keyPlaces(args)
	r.loopRules(s, e, cmd, args, keys)
	if cmd.countAt > 0 && len(keys) == 0 {
		keys = r.countedKeys(s, e, cmd)
	}
	if cmd.countAt > 0 && len(keys) == 0 && !valueAt(args, cmd.countAt-1).lenient {
		r.report(r.at(argument(e, cmd.countAt)), RuleUndeclaredKey, "the number of keys of %s is not a literal, so vet does not know which arguments are keys: write the number", cmd.name)
	}
	for _, i := range keys {
		r.key(e, cmd, i+1, args[i])
	}
	if r.caught() || r.mayFail(s, cmd, args, keys) {
		r.thrown(s)
	}
	r.reads(cmd, args, keys)
	if cmd.name == "APPEND" && e == r.unused && len(args) > 0 { // another reply may show that the text is new
		for _, key := range args[0].keys() {
			r.appended[key] = true
		}
	}
	// Where it fails, it has written nothing. XGROUP fails where the group exists.
	splits := protected && cmd.write && cmd.name != "XGROUP" && (cmd.expiry != setsTTL || r.failsQuietly(cmd, args, keys, s))
	if splits {
		failed := s.clone()
		defer func() {
			reply := r.newObject(failed, &e.Func, &object{fields: with("err", value{kinds: isStr, taint: fromStore}), failure: true})
			out = append(out, outcome{s: failed, vals: []value{reply}})
		}()
	}
	r.bitOffset(e, cmd.name, args)
	r.encoded(e, cmd.name, args)
	if cmd.family == "stream" {
		r.stream(s, e, cmd.name, args, keys, protected)
	}
	proof, exists := r.proves(s, cmd, args, keys), s.exists(args, keys)
	before, expiries := s.writes, s.ttl
	timed := r.expiry(s, e, cmd, args, keys)
	r.fractions(e, cmd.name, args, timed)
	for i, v := range args {
		r.negativeZero(argument(e, i+1), v)
		if i != timed {
			v.product = v.product && !score(cmd.name, i, args)
			r.inRange(argument(e, i+1), v, cmd.name != "SET" && cmd.name != "HSET")
		}
	}
	s.trimmed(cmd, args, keys)
	reply := r.reply(s, e, cmd, args)
	reply.proof = proof
	if exists && falseIfMissing[cmd.name] {
		reply.kinds &^= isFalse
	}
	if c := s.charged.on(args, keys); c != nil && !c.decided {
		reply.taint |= increased
	}
	if len(keys) > 0 {
		for _, i := range keys {
			reply.reply = union(reply.reply, args[i].keys())
		}
	}
	if protected && !splits {
		failed := r.newObject(s, &e.Args, &object{fields: with("err", value{kinds: isStr, taint: fromStore}), failure: true})
		reply = join(reply, failed)
	}
	if split := r.vanished(s, e, cmd, args, keys, reply); split != nil {
		return split
	}
	return r.told(s, e, cmd, args, keys, reply, before, expiries)
}

// permission returns what an ACL names for a command: with its subcommand, XGROUP|CREATE, and with the channel to which it always publishes.
func permission(name string, second *string) string {
	switch {
	case second == nil:
	case name == "PUBLISH":
		return name + "|" + *second
	case name == "OBJECT" || name == "XGROUP" || name == "XINFO":
		return name + "|" + strings.ToUpper(*second)
	}
	return name
}

// readOnly reports a command that Redis refuses in a function with the flag no-writes.
func (r *run) readOnly(e *ast.FuncCallExpr, cmd *command) {
	if cmd.write {
		r.report(r.outer(e), RuleNoWrites, "%s has the flag no-writes, and %s writes: Redis refuses it at run time; remove the flag or the write", r.spec.Name, cmd.name)
		return
	}
	r.report(r.outer(e), RuleNoWrites, "%s has the flag no-writes, and %s is replicated as writes are: Redis refuses it at run time; remove the flag", r.spec.Name, cmd.name)
}

// failsQuietly reports whether an expiry that redis.pcall sets may fail behind a write that needs it.
func (r *run) failsQuietly(cmd *command, args []value, keys []int, s *state) bool {
	if cmd.expiry != setsTTL || len(keys) == 0 || len(args) < 2 || args[1].only(isInt) {
		return false
	}
	for _, key := range args[keys[0]].keys() {
		if len(s.ttl.at(key).pending) > 0 {
			return true
		}
	}
	return false
}

// available reports whether vet knows a command and every server on which the library runs has it. If not, it adds a finding.
func (r *run) available(e *ast.FuncCallExpr, name string) bool {
	at := r.at(argument(e, 0))
	if why, ok := refusedCommands[name]; ok {
		r.report(at, RuleRefusedCommand, "a function cannot run %s: %s", name, why)
		return false
	}
	since, newer := newerCommands[name]
	known := commands[name] != nil
	var required spec.Servers
	if r.lib != nil {
		required = r.lib.Spec.Requires
	}
	switch lacking := lacks(required, since); {
	case newer && required == nil:
		r.report(at, RuleUnknownCommand, "%s is in %s but not in Redis 7.0, which libraries support unless they say @requires", name, since)
	case newer && lacking != "":
		r.report(at, RuleUnknownCommand, "%s is in %s but not in %s, which the library's @requires allows", name, since, lacking)
	case newer && !known:
		r.report(at, RuleUnknownCommand, "%s is in %s, but vet does not know what it does to its keys: use other commands", name, since)
	case !known:
		r.report(at, RuleUnknownCommand, "unknown Redis command %s%s", name, spelling.DidYouMean(name, commandNames))
	default:
		return true
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

// callArguments checks that each argument is a string or a number.
func (r *run) callArguments(e *ast.FuncCallExpr, args []value) {
	for i, v := range args {
		if v.lenient {
			continue
		}
		bad := v.kinds &^ (isNumber | isStr)
		if bad == 0 {
			continue
		}
		node, at := r.origin(argument(e, i))
		what := value{kinds: bad}.describe()
		if v.kinds == isAny {
			what = "of any type"
		}
		r.report(at, RuleCallArgument, "%s, argument %d of redis.call%s, may be %s; anything but a string or a number can crash Redis 7.4 and 8.0 at a later resync: %s",
			exprText(node), i+1, r.within(node, argument(e, i)), what, callHint(v))
	}
}

// score reports whether argument i is a sorted set's score, a coordinate or a distance. Redis reads these as doubles, so every text of the
// number is the same one.
func score(command string, i int, args []value) bool {
	switch n := len(args); command {
	case "ZADD":
		return i > 0 && (n-i)%2 == 0
	case "GEOADD":
		return i > 0 && (n-i)%3 != 1
	case "GEOSEARCH", "GEOSEARCHSTORE":
		return i > 1 && (wordFrom(i-1, args[:i], "FROMLONLAT", "BYRADIUS", "BYBOX") >= 0 || wordFrom(i-2, args[:i-1], "FROMLONLAT", "BYBOX") >= 0)
	case "ZINCRBY":
		return i == 1
	case "ZCOUNT", "ZRANGEBYSCORE", "ZREVRANGEBYSCORE", "ZREMRANGEBYSCORE":
		return i == 1 || i == 2
	}
	return false
}

// fractions reports numbers that are not whole, except scores, and argument timed, which another rule checks.
func (r *run) fractions(e *ast.FuncCallExpr, command string, args []value, timed int) {
	for i, v := range args {
		if v.lenient || i == timed || !v.may(isFrac) || score(command, i, args) {
			continue
		}
		node, at := r.origin(argument(e, i+1))
		r.report(at, RuleCallFraction, "%s, argument %d of redis.call%s, may be a fraction, which Redis 7.0 writes with 17 digits and newer servers shorter: round it with math.floor or math.ceil",
			exprText(node), i+2, r.within(node, argument(e, i+1)))
	}
}

// within returns " in FUNCTION" for a finding about an argument that the public function passed on.
func (r *run) within(node, original ast.Expr) string {
	if node == original {
		return ""
	}
	return " in " + r.top().fn.name
}

func callHint(v value) string {
	switch {
	case v.kinds == isAny:
		return "test type(x) == 'string' first"
	case v.only(isBool):
		return "write `flag and 1 or 0`"
	case v.may(isTable):
		return "pass its fields one by one"
	case v.may(isFalse) && len(v.reply) > 0:
		return "a missing key or field is false, so test it first"
	}
	return "test it first"
}

// key checks that the header declares a key argument, with the command's type.
func (r *run) key(e *ast.FuncCallExpr, cmd *command, place int, v value) {
	if v.lenient {
		return
	}
	if len(v.keys()) == 0 || !v.only(isStr|isNil) {
		node, at := r.origin(argument(e, place))
		switch {
		case v.fixed:
			r.report(at, RuleUndeclaredKey, "%s uses the key %s, which no @key declares: a cluster may hold it on another node; add a @key and use that parameter", cmd.name, exprText(node))
		default:
			r.report(at, RuleUndeclaredKey, "%s uses the key %s, which is not an unchanged @key parameter: add a @key for each key, all share the hash tag", cmd.name, exprText(node))
		}
		return
	}
	for _, key := range v.keys() {
		declared := r.declaredType(key)
		if declared != "" && cmd.family != "" && cmd.family != declared {
			r.report(r.outer(argument(e, place)), RuleKeyType, "%s requires a %s, but the header declares %s as a %s: Redis would answer WRONGTYPE", cmd.name, cmd.family, key, declared)
		}
	}
}

// origin follows a parameter back to the argument that a caller passed for it.
func (r *run) origin(e ast.Expr) (ast.Expr, site) {
	depth := len(r.frames) - 1
	for depth > 0 {
		f := r.frames[depth]
		id, ok := e.(*ast.IdentExpr)
		if !ok {
			break
		}
		v := f.fn.file.refs[id]
		place := -1
		for i, p := range f.fn.params {
			if p == v && v.assigned == 0 {
				place = i
			}
		}
		if place < 0 || place >= len(f.passed.exprs) {
			break
		}
		e = f.passed.exprs[place]
		depth--
	}
	file := r.frames[depth].fn.file
	return e, site{file, file.at(e)}
}

// clock checks that only lib/clock.lua reads the time, once per call.
func (r *run) clock(s *state, e *ast.FuncCallExpr) {
	if r.here().lib != clockLib {
		r.report(r.at(e), RuleClock, "only lib/%s.lua reads TIME, so that tests can move the clock: call %s.now_us() once", clockLib, clockLib)
	}
	s.times++
	if s.times < 2 {
		return
	}
	at := r.at(e)
	for i := len(r.frames) - 1; i > 0 && r.frames[i].fn.file.lib == clockLib; i-- {
		below := r.frames[i-1].fn.file
		at = site{below, below.at(r.frames[i].call)}
	}
	r.report(at, RuleClockTwice, "this call reads the clock twice, and on Redis 7.0 it has advanced: read it once and pass the time")
}

const clockLib = "clock"

// loopRules reports work that grows with a key's content.
func (r *run) loopRules(s *state, e *ast.FuncCallExpr, cmd *command, args []value, keys []int) {
	if why := wholeContent(cmd.name, args); why != "" && !r.finds(cmd.name, args) && !r.oneElement(cmd.name, e, args) && !s.fewIn(args, keys) {
		r.report(r.at(e), RuleKeyLoop, "%s, and the server waits: %s, or say why it is small with `-- rlfunc:ignore %s reason`", why, bounding(cmd.name), RuleKeyLoop)
	}
	if (cmd.name == "DUMP" || cmd.name == "COPY") && len(args) > 0 && len(args[0].keys()) > 0 && !slices.Contains([]string{"", "string"}, r.declaredType(args[0].keys()[0])) {
		r.report(r.at(e), RuleKeyLoop, "%s copies the whole content of its key, and the server waits: bound it, or say why it is small with `-- rlfunc:ignore %s reason`", cmd.name, RuleKeyLoop)
	}
	for i := len(r.frames) - 1; i >= 0; i-- {
		if r.frames[i].unbounded == 0 {
			continue
		}
		at := r.at(e)
		if i < len(r.frames)-1 {
			f := r.frames[i].fn.file
			at = site{f, f.at(r.frames[i+1].call)}
		}
		r.report(at, RuleKeyLoop, "%s runs in a loop whose end depends on data, and after 5 seconds every client gets BUSY: count the turns with a for, or say what bounds it with `-- rlfunc:ignore %s reason`", cmd.name, RuleKeyLoop)
		return
	}
}

// reads notes the keys whose content a command returns.
func (r *run) reads(cmd *command, args []value, keys []int) {
	if _, timed := expiryUnits[cmd.name]; cmd.write || timed {
		return
	}
	for _, i := range keys {
		for _, key := range args[i].keys() {
			r.read[key] = true
			if !states[cmd.name] {
				r.counted[key] = true
			}
			if searched[cmd.name] {
				r.listed[key] = true
			}
		}
	}
}
