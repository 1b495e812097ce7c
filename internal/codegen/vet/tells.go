package vet

import (
	"math"

	"github.com/yuin/gopher-lua/ast"
)

// idleReplies maps commands whose reply says whether they changed anything to a value of that reply where they did not: 0, false, or an
// empty table.
var idleReplies = func() map[string]kind {
	out := map[string]kind{}
	for name := range set("DEL UNLINK HDEL SREM ZREM SADD SETNX HSETNX MSETNX PERSIST RENAMENX COPY SMOVE LINSERT LPUSHX RPUSHX PFADD XACK XDEL EXPIRE PEXPIRE EXPIREAT PEXPIREAT") {
		out[name] = isInt
	}
	for name := range set("LPOP RPOP SPOP LMPOP ZMPOP LMOVE RPOPLPUSH GETDEL") {
		out[name] = isFalse
	}
	out["ZPOPMIN"], out["ZPOPMAX"] = isTable, isTable
	return out
}()

// takes are the commands whose reply holds what they remove: after a refusal no client has it. Other removals are of elements that the
// function names: see removes.
var takes = set("LPOP RPOP SPOP LMPOP ZMPOP ZPOPMIN ZPOPMAX GETDEL")

// idleReply returns the kind of a command's reply where that says that nothing has changed, or 0 if the reply does not say it.
func idleReply(name string, args []value) kind {
	switch name {
	case "SET":
		if hasWord(args, "NX", "XX") && !hasWord(args, "GET") {
			return isFalse
		}
	case "ZADD":
		switch {
		case hasWord(args, "INCR") && hasWord(args, "NX", "XX", "GT", "LT"):
			return isFalse
		case !hasWord(args, "INCR") && hasWord(args, "NX", "CH"):
			return isInt
		}
	case "XADD":
		if hasWord(args, "NOMKSTREAM") {
			return isFalse
		}
	default:
		return idleReplies[name]
	}
	return 0
}

// told splits the path behind a write by whether its reply says that it has changed anything. On the path where nothing has changed, a
// refusal loses nothing and a key needs no expiry, so the writes are those of before.
func (r *run) told(s *state, e *ast.FuncCallExpr, cmd *command, args []value, keys []int, reply value, before writes, expiries byName[ttl]) []outcome {
	idle := idleReply(cmd.name, args)
	waiting := waits(s.ttl, expiries)
	if s.writes == before && !waiting || idle == 0 || !reply.may(idle) || reply.lenient || e == r.unused {
		return gives(s, reply)
	}
	unchanged := s.clone()
	unchanged.writes = before
	if waiting {
		unchanged.ttl = expiries
	}
	nothing := reply
	switch idle {
	case isInt:
		nothing.literal, nothing.kinds, nothing.in = &zeroText, isInt, nothing.in.asTold()
		if reply.in = reply.in.narrowed(">=", between(1, 1), true); math.IsInf(reply.in.high, 1) {
			reply.in.high = nonNegative.high
		}
		reply.in = reply.in.asTold()
		if (adds[cmd.name] || cmd.name == "ZADD") && !s.stays {
			r.charges(s, cmd.name, args, keys)
			s.stays = true
		}
		if cmd.name == "LINSERT" {
			nothing.literal = nil
			nothing.in = between(-1, 0).asTold()
		}
	case isFalse:
		nothing = reply.falsy()
		reply.kinds &^= isFalse
	case isTable:
		nothing.objects = r.newObject(unchanged, inner{e, 0}, &object{size: sized(0)}).objects
		for _, id := range reply.objects {
			s.object(id).size.least = 2 // a member and its score
		}
	}
	return []outcome{{s: unchanged, vals: []value{nothing}}, {s: s, vals: []value{reply}}}
}

// waits reports whether a key waits for an expiry that did not wait before.
func waits(l, before byName[ttl]) bool {
	if sameSlice(l, before) {
		return false
	}
	for _, e := range l {
		if len(e.v.pending) > len(before.at(e.name).pending) {
			return true
		}
	}
	return false
}

var zeroText = "0"
