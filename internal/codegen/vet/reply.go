package vet

import (
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// reply returns the value of a command's reply in Lua.
func (r *run) reply(s *state, e *ast.FuncCallExpr, c *command, args []value) value {
	stored := value{kinds: isStr, taint: fromStore}
	maybe := value{kinds: isStr | isFalse, taint: fromStore}
	list := func(elem value) value {
		v := r.newObject(s, e, &object{elem: &elem})
		v.reads = true
		return v
	}
	status := func() value {
		return r.newObject(s, e, &object{fields: with("ok", of(isStr))})
	}
	switch c.reply {
	case repliesInt:
		switch c.name {
		case "TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME":
			return value{kinds: isInt, in: between(-2, longestTTL), left: true}
		case "EXISTS", "DEL", "UNLINK", "HEXISTS", "SISMEMBER", "GETBIT", "SETBIT", "SADD", "SREM", "HDEL", "ZREM", "HSET", "HSETNX", "SETNX", "EXPIRE", "PEXPIRE":
			return value{kinds: isInt, in: nonNegative}
		}
		return of(isInt)
	case repliesGrowing:
		return value{kinds: isInt, content: true, in: nonNegative}
	case repliesString, repliesNumber:
		return stored
	case repliesMaybe:
		return maybe
	case repliesStatus:
		return status()
	case repliesArray:
		if c.name == "SMISMEMBER" {
			return list(of(isInt))
		}
		return list(stored)
	case repliesGaps:
		if strings.HasPrefix(c.name, "BITFIELD") {
			return list(of(isInt | isFalse))
		}
		return list(maybe)
	case repliesTime:
		digits := value{kinds: isStr, digits: true}
		return r.newObject(s, e, &object{items: []value{digits, digits}})
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
		v := list(stored)
		v.kinds |= isFalse
		return v
	}
	return unknown()
}

// hasWord reports whether an option is among the arguments after the key.
func hasWord(args []value, words ...string) bool {
	return wordAt(args, words...) >= 0
}

func wordAt(args []value, words ...string) int {
	for i := 1; i < len(args); i++ {
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
