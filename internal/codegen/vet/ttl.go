package vet

import (
	"math"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// expiry records the effect of a command on the expiry of its keys, and checks its time to live, argument timed.
func (r *run) expiry(s *state, e *ast.FuncCallExpr, cmd *command, args []value, keys []int) (timed int) {
	effect, ttlAt, want := cmd.expiry, -1, spanMillis
	existing := false // it has no effect on a missing key
	switch cmd.name {
	case "SET":
		ttlAt, want = expiryOption(args, 2)
		switch {
		case ttlAt >= 0 && hasWord(args, "NX"):
			effect = setsFirst
		case ttlAt >= 0:
			effect = setsTTL
		case hasWord(args, "KEEPTTL"), hasWord(args, "NX"):
			effect = growsKey
		}
		if existing = hasWord(args, "XX"); existing && effect == growsKey {
			effect = keepsTTL
		}
	case "XADD":
		if hasWord(args, "NOMKSTREAM") {
			effect = keepsTTL
		}
	case "ZADD", "GEOADD":
		if i := wordAt(args, "XX"); i >= 1 && i <= 3 && i < len(args)-2 {
			effect = keepsTTL
		}
	case "XGROUP":
		if hasWord(args, "MKSTREAM") {
			effect = growsKey
		}
	case "BITFIELD":
		if !hasWord(args, "SET", "INCRBY") {
			effect = keepsTTL
		}
	case "GETEX":
		ttlAt, want = expiryOption(args, 1)
		existing = true
		if ttlAt < 0 {
			effect = keepsTTL
		}
		if hasWord(args, "PERSIST") {
			effect = dropsOnly
		}
	case "SETEX", "EXPIRE":
		ttlAt, want = 1, spanSeconds
	case "PSETEX", "PEXPIRE":
		ttlAt = 1
	case "EXPIREAT":
		ttlAt, want = 1, timeSeconds
	case "PEXPIREAT":
		ttlAt, want = 1, timeMillis
	}
	if strings.Contains(cmd.name, "EXPIRE") {
		existing = true
		if n, ok := valueAt(args, 1).number(); ok && (n <= 0 || want.isTime() && n < longAgo) {
			effect = deletes
		}
	}
	if ttlAt >= 0 && ttlAt < len(args) {
		if node := argument(e, ttlAt+1); want.isTime() {
			r.inUnit(node, args[ttlAt], cmd.name, want)
			if cmd.name == "SET" && args[ttlAt].unit == want {
				r.setsUntil(node, args[ttlAt])
			}
		} else {
			r.timeToLive(node, args[ttlAt], cmd.name, want)
		}
	}
	if ttlAt >= 0 && ttlAt < len(args) && strings.Contains(cmd.name, "EXPIRE") && !hasWord(args, "NX", "GT") && (!want.isTime() || args[ttlAt].unit == 0 || args[ttlAt].unit == want) {
		r.sharedTTL(s, e, cmd.name, args[ttlAt], args[0].keys())
	}
	if strings.HasSuffix(cmd.name, "SET") || strings.HasSuffix(cmd.name, "SETEX") {
		if ttlAt >= 0 && ttlAt < len(args) && !want.isTime() && !hasWord(args, "NX") {
			r.repacked(s, e, args, args[ttlAt])
		}
	}
	if strings.Contains(cmd.name, "EXPIRE") && hasWord(args, "XX", "GT") {
		effect = keepsTTL // a key without an expiry stays without
	}
	takenBack := cmd.write && (takesBack(cmd.name, args) || s.charged.takenBackBy(cmd.name, args, keys))
	if cmd.write && (effect != empties || takes[cmd.name]) {
		s.wrote(r.outer(e))
		stays := takes[cmd.name] || changes[cmd.name] && !hasWord(args, "NX", "XX") && (e == r.unused || !hasWord(args, "GT", "LT"))
		if stays || e == r.unused && (adds[cmd.name] || cmd.name == "ZADD") {
			r.charges(s, cmd.name, args, keys)
		}
		s.stays = s.stays || stays
	}
	if takenBack {
		s.stays, s.over, s.charged = false, false, nil
	} else {
		r.removes(s, e, cmd, args, keys)
	}
	for _, i := range written(cmd, keys) {
		if args[i].lenient {
			continue
		}
		for _, key := range args[i].keys() {
			r.vanishes(s, e, cmd, key, effect)
			r.applyExpiry(s, e, key, effect, existing)
			if t := s.ttl.at(key); effect == growsKey && len(t.pending) == 1 {
				t.size = firstSize(cmd.name, args)
				s.ttl = s.ttl.with(key, t)
			}
		}
	}
	r.moved(s, cmd, args, keys)
	return ttlAt
}

// longAgo is a time in seconds or milliseconds that is in the past, in either unit.
const longAgo = 1e9

// moved records what a command does to the key that it takes something from, and to a key that gets another's expiry.
func (r *run) moved(s *state, cmd *command, args []value, keys []int) {
	if len(keys) != 2 || args[keys[0]].lenient || args[keys[1]].lenient {
		return
	}
	for _, from := range args[keys[0]].keys() {
		source := s.ttl.at(from)
		switch cmd.name {
		case "RENAME", "RENAMENX", "COPY":
			for _, to := range args[keys[1]].keys() {
				s.ttl = s.ttl.with(to, ttl{settled: len(source.pending) == 0, proven: source.proven, pending: source.pending, epoch: s.ttl.at(to).epoch + 1})
			}
		}
		switch cmd.name {
		case "RENAME", "RENAMENX":
			s.ttl = s.ttl.with(from, ttl{epoch: source.epoch + 1})
		case "LMOVE", "RPOPLPUSH", "SMOVE":
			if !slices.Equal(args[keys[0]].keys(), args[keys[1]].keys()) {
				s.ttl = s.ttl.with(from, ttl{pending: source.pending, epoch: source.epoch + 1})
			}
		}
	}
}

// written returns the indexes of the keys that a command changes, among all of its keys.
func written(cmd *command, keys []int) []int {
	if !cmd.write || len(keys) == 0 {
		return nil
	}
	switch cmd.name {
	case "RENAME", "RENAMENX", "COPY", "LMOVE", "RPOPLPUSH", "SMOVE":
		return keys[len(keys)-1:]
	case "MSET", "MSETNX", "DEL", "UNLINK":
		return keys
	}
	return keys[:1]
}

func (r *run) applyExpiry(s *state, e *ast.FuncCallExpr, key string, effect expiry, onlyExisting bool) {
	now := s.ttl.at(key)
	next := ttl{below: now.below, few: now.few, group: now.group, epoch: now.epoch, most: now.most}
	switch effect {
	case keepsTTL:
		return
	case setsTTL:
		if onlyExisting && !now.settled && !now.proven && len(now.pending) == 0 {
			return // before the first write the key may be missing
		}
		next.settled = true
	case setsFirst:
		if len(now.pending) > 0 {
			return // a key that this call wrote is left as it is
		}
		next.settled = true
	case growsKey:
		// An ignore comment at the write counts, because the report at the end of the call no longer has the path to it.
		if now.settled || now.proven || r.c.ignore.silences(RuleMissingTTL, []site{r.at(e)}) {
			return
		}
		next.pending = mergeSites(now.pending, []site{r.outer(e)})
	case dropsTTL, dropsOnly:
		next.pending = mergeSites(now.pending, []site{r.outer(e)})
		next.epoch++
	case empties:
		next = ttl{pending: now.pending, epoch: now.epoch + 1, most: now.most, few: now.few}
	case deletes:
		next = ttl{epoch: now.epoch + 1}
	}
	s.ttl = s.ttl.with(key, next)
}

// endOfCall reports writes without an expiry, of a call that returns or is raised by an error.
func (r *run) endOfCall(s *state, raised bool) {
	for _, e := range s.ttl {
		key := e.name
		if r.lasts(key) {
			continue
		}
		for _, at := range e.v.pending {
			if raised {
				r.endedEarly(at, key)
				continue
			}
			r.reports++
			r.c.said[said{at, RuleMissingTTL}] = true
			r.report(at, RuleMissingTTL, "this call writes %s without an expiry on %s: call PEXPIRE after the write%s", key, r.pathWithout(unexpired{at, key}), orSet(r.declaredType(key)))
		}
	}
}

// endedEarly reports a write that an error ends without an expiry, unless a return does, too.
func (r *run) endedEarly(at site, key string) {
	if r.reportOnce(at, RuleMissingTTL) {
		r.report(at, RuleMissingTTL, "an error may end this call before %s has an expiry: set it right behind the write", key)
	}
}

// orSet returns the other remedy of a key that may be a string.
func orSet(declared string) string {
	if declared == "" || declared == "string" {
		return ", or use SET ... PX"
	}
	return ""
}

func expiryOption(args []value, from int) (at int, want unit) {
	if i := wordAt(args, "PX"); i >= from-1 && i >= 0 {
		return i + 1, spanMillis
	}
	if i := wordAt(args, "EX"); i >= 0 {
		return i + 1, spanSeconds
	}
	if i := wordAt(args, "EXAT"); i >= 0 {
		return i + 1, timeSeconds
	}
	if i := wordAt(args, "PXAT"); i >= 0 {
		return i + 1, timeMillis
	}
	return -1, 0
}

// timeToLive checks a time to live in milliseconds or seconds.
func (r *run) timeToLive(node ast.Expr, v value, command string, want unit) {
	if v.lenient {
		return
	}
	node, at := r.origin(node)
	if n, ok := v.number(); ok {
		switch {
		case n <= 0:
			r.report(at, RuleBadTTL, "a time to live of %s: EXPIRE with it deletes the key, and SET refuses it", exprText(node))
		case n != math.Trunc(n):
			r.report(at, RuleBadTTL, "a time to live of %s is not a whole number: Redis refuses it", exprText(node))
		}
		return
	}
	name := exprText(node)
	in := v.interval()
	switch {
	case v.may(isStr) && v.param() != "":
		r.report(at, RuleBadTTL, "the time to live %s is the caller's text: declare it as duration, and pass math.ceil(%s_us / %s)", name, v.param(), microsPer[want])
	case (r.sees(v) || at.file == r.file && v.left > 0 && !in.related) && (mayBeOver(in) || !in.known && (v.may(isNum) || in.ends&lowEnd != 0) && len(v.reply) > 0):
		r.report(at, RuleBadTTL, "the time to live %s may be 0 or less: EXPIRE with it deletes the key, and SET refuses it; bound it by its @arg, test %s > 0 before, or write math.max(%s, 1)", name, name, name)
	case v.span() != "" && len(v.reply) == 0 && mayBeOver(in):
		if at := r.outer(node); r.reportOnce(at, RuleBadTTL) {
			r.report(at, RuleBadTTL, "the time to live may be 0 or less, as it comes from %s: EXPIRE with it deletes the key, and SET refuses it; bound %s by its @arg, or test it before", v.span(), v.span())
		}
	case v.taint&adrift != 0 && (!in.known || mayBeOver(in)):
		if at := r.outer(node); r.reportOnce(at, RuleBadTTL) {
			r.report(at, RuleBadTTL, "the time to live may be 0 or less, as nothing compares the numbers from which it is calculated: EXPIRE with it deletes the key, and SET refuses it; compare them before, or write math.max(%s, 1)", name)
		}
	case v.may(isFrac):
		r.report(at, RuleBadTTL, "the time to live %s may be a fraction, which Redis refuses: round up with math.ceil(%s)", name, name)
	case v.floored:
		r.report(at, RuleBadTTL, "the time to live %s is rounded down and may be 0, which deletes the key: round up with math.ceil", name)
	case strings.HasSuffix(name, "_us"):
		r.report(at, RuleBadTTL, "%s is in microseconds, and %s takes %s: write math.ceil(%s / %s)", name, command, unitName[want], name, microsPer[want])
	case v.unit != 0 && v.unit != want:
		r.inUnit(node, v, command, want)
	case strings.HasSuffix(name, "_ms") && want == spanSeconds:
		r.report(at, RuleBadTTL, "%s is in milliseconds, and %s takes seconds: use the P variant, or divide by 1000 and round up", name, command)
	}
}

// mayBeOver reports whether a range has 0 or less.
func mayBeOver(in interval) bool { return in.known && in.low <= 0 && !(in.nonzero && in.low >= 0) }

// sharedTTL checks the expiry of a key that may have entries of other callers.
func (r *run) sharedTTL(s *state, e *ast.FuncCallExpr, command string, ttl value, keys []string) {
	if ttl.span() == "" || ttl.lenient && !r.callsClock() {
		return
	}
	for _, key := range keys {
		switch r.declaredType(key) {
		case "list", "set", "zset", "hash", "stream":
		default:
			if !r.appended[key] {
				continue
			}
		}
		if !s.ttl.at(key).below {
			r.report(r.outer(e), RuleSharedTTL, "%s expires after this call's %s, even if another call's entry lasts longer: use clock.extend, or %s with NX and then with GT", key, ttl.span(), command)
		}
	}
}

var (
	unitName  = map[unit]string{spanMillis: "milliseconds", spanSeconds: "seconds"}
	microsPer = map[unit]string{spanMillis: "1000", spanSeconds: "1000000"}
)
