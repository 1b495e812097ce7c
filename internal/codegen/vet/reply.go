package vet

import (
	"math"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

var expiryUnits = map[string]unit{"TTL": spanSeconds, "PTTL": spanMillis, "EXPIRETIME": timeSeconds, "PEXPIRETIME": timeMillis}

// reply returns the value of a command's reply in Lua.
func (r *run) reply(s *state, e *ast.FuncCallExpr, c *command, args []value) value {
	element := value{kinds: isStr, taint: fromStore}
	field := value{kinds: isStr, taint: fromStore | stored}
	maybe := field
	maybe.kinds |= isFalse
	some := func(atLeast int, elem value) value {
		size := tally{least: int32(atLeast), most: mostElements(c.name, args)}
		if atLeast > 0 {
			size = sized(atLeast)
			size.most = size.least
		}
		if pairs(c.name, args) {
			size.step, size.known = 2, true
		}
		v := r.newObject(s, e, &object{elem: &elem, size: size, scores: hasWord(args, "WITHSCORES")})
		v.reads = true
		return v
	}
	list := func(elem value) value { return some(0, elem) }
	status := func() value {
		return r.newObject(s, e, &object{fields: with("ok", of(isStr))})
	}
	switch c.reply {
	case repliesInt:
		switch c.name {
		case "TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME":
			longest := float64(longestTTL)
			if c.name[0] != 'P' {
				longest /= 1000
			}
			return value{kinds: isInt, in: between(-2, longest), unit: expiryUnits[c.name], left: 1}
		case "HEXISTS", "SISMEMBER", "GETBIT", "SETBIT", "HSETNX", "SETNX", "SMOVE", "RENAMENX", "COPY", "MSETNX", "PFADD", "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "PERSIST":
			return value{kinds: isInt, in: between(0, 1)}
		case "EXISTS", "DEL", "UNLINK", "SADD", "SREM", "HDEL", "ZREM", "HSET":
			if r.isOpenList(s, e) {
				return value{kinds: isInt, in: nonNegative}
			}
			return value{kinds: isInt, in: between(0, float64(len(args)))}
		}
		return value{kinds: isInt, in: r.decreased(c.name, args)}
	case repliesGrowing:
		size := value{kinds: isInt, content: true, in: s.heldIn(c.name, args)}
		if sizes[c.name] && len(args) > 0 && len(args[0].keys()) == 1 && !args[0].lenient {
			size.rare = &rare{count: args[0].keys()[0]}
		}
		return size
	case repliesString, repliesNumber:
		return field
	case repliesMaybe:
		return maybe
	case repliesStatus:
		return status()
	case repliesArray:
		switch {
		case c.name == "SMISMEMBER":
			return some(r.exactly(s, e, args, 1), of(isInt))
		case hasWord(args, "WITHCOORD", "WITHDIST", "WITHHASH"):
			if r.isOpenList(s, e) {
				return unknown()
			}
			return list(r.located(s, e, args))
		}
		return list(element)
	case repliesGaps:
		switch c.name {
		case "BITFIELD", "BITFIELD_RO":
			if fields := fieldReplies(args); len(fields) > 0 && !r.isOpenList(s, e) {
				return r.newObject(s, e, &object{items: fields, size: sized(len(fields))})
			}
			return list(of(isInt | isFalse))
		case "MGET":
			return some(r.exactly(s, e, args, 0), maybe)
		}
		return some(r.exactly(s, e, args, 1), maybe)
	case repliesTime:
		digits := value{kinds: isStr, digits: true}
		seconds := digits
		seconds.unit = timeSeconds
		return r.newObject(s, e, &object{items: []value{seconds, digits}})
	}
	if c.family == "stream" {
		return r.streamReply(s, e, c.name, args)
	}
	switch c.name {
	case "SET":
		v := status()
		if hasWord(args, "GET") {
			return maybe
		}
		if hasWord(args, "NX") || hasWord(args, "XX") {
			v.kinds |= isFalse
		}
		return v
	case "ZADD":
		if hasWord(args, "INCR") {
			return maybe
		}
		return of(isInt)
	case "ZRANK", "ZREVRANK":
		return of(isInt | isFalse)
	case "LPOS":
		if len(args) == 2 {
			return of(isInt | isFalse)
		}
	case "LPOP", "RPOP", "SPOP", "SRANDMEMBER", "HRANDFIELD", "ZRANDMEMBER":
		if len(args) == 1 {
			return maybe
		}
		v := list(element)
		if c.name == "LPOP" || c.name == "RPOP" { // the others give an empty array for a missing key
			v.kinds |= isFalse
		}
		return v
	case "LMPOP", "ZMPOP":
		popped := r.newObject(s, inner{e, 1}, &object{elem: &element, size: tally{least: 1}})
		if c.name == "ZMPOP" {
			pair := r.newObject(s, inner{e, 2}, &object{items: []value{element, field}})
			popped = r.newObject(s, inner{e, 1}, &object{elem: &pair, size: tally{least: 1}})
		}
		v := r.newObject(s, e, &object{items: []value{element, popped}})
		v.kinds |= isFalse
		return v
	case "GEOPOS":
		place := r.newObject(s, inner{e, 1}, &object{items: []value{field, field}})
		place.kinds |= isFalse
		return some(r.exactly(s, e, args, 1), place)
	}
	return unknown()
}

// pairs reports whether a reply has two elements for each of the key.
func pairs(name string, args []value) bool {
	return name == "ZPOPMIN" || name == "ZPOPMAX" || name == "HGETALL" || hasWord(args, "WITHSCORES", "WITHVALUES")
}

// silencedReply returns the value of a reply of a command that has a finding, which an ignore comment may silence.
func (r *run) silencedReply(s *state, e *ast.FuncCallExpr, name string, args []value) value {
	if name != "SORT" && name != "SORT_RO" {
		return anything()
	}
	elem := value{kinds: isStr, taint: fromStore | stored}
	if hasWord(args, "GET") {
		elem.kinds |= isFalse
	}
	if name == "SORT" && hasWord(args, "STORE") {
		return value{kinds: isInt, in: nonNegative}
	}
	v := r.newObject(s, e, &object{elem: &elem})
	v.reads = true
	return v
}

// decreased returns the range of the reply of a command that takes from a number: of a missing one, as much as it takes. Code that has
// read the key may know that it holds more.
func (r *run) decreased(name string, args []value) interval {
	at := map[string]int{"INCRBY": 1, "DECRBY": 1, "HINCRBY": 2}[name]
	by := between(-1, -1)
	by.ends = bothEnds
	if name != "DECR" {
		if at == 0 || at >= len(args) {
			return interval{}
		}
		by = args[at].interval()
	}
	if name == "DECRBY" {
		by.low = -by.high
	}
	if !by.known || by.ends&bothEnds != bothEnds || by.low >= 0 || slices.ContainsFunc(args[0].keys(), func(key string) bool { return r.read[key] }) {
		return interval{}
	}
	return interval{known: true, ends: bothEnds, low: by.low, high: math.Inf(1)}
}

// An inner is a table inside the reply of a call.
type inner struct {
	call *ast.FuncCallExpr
	n    int
}

// exactly returns how many elements a reply has that has one for each argument from a place on.
func (r *run) exactly(s *state, e *ast.FuncCallExpr, args []value, from int) int {
	if r.isOpenList(s, e) {
		return 0
	}
	return max(len(args)-from, 0)
}

// hasWord reports whether an option is among the arguments after the key.
func hasWord(args []value, words ...string) bool {
	return wordAt(args, words...) >= 0
}

func wordAt(args []value, words ...string) int { return wordFrom(1, args, words...) }

func wordFrom(first int, args []value, words ...string) int {
	for i := first; i < len(args); i++ {
		if args[i].literal == nil || !args[i].only(isStr) {
			continue
		}
		for _, w := range words {
			if strings.EqualFold(*args[i].literal, w) {
				return i
			}
		}
	}
	return -1
}
