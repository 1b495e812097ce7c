package parity_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// grammar has the commands that the fuzzer calls, and what arguments they take. A word is a kind of argument (see argument)
// or itself; "?" begins an option, whose words colons join; "*" repeats a word or a group from one to three times.
var grammar = map[string]string{
	"get": "K", "set": "K V ?NX ?XX ?GET ?KEEPTTL ?EX:T ?PX:T", "setex": "K T V", "psetex": "K T V", "setnx": "K V", "getset": "K V", "getdel": "K",
	"getex": "K ?PERSIST ?EX:T", "mget": "*K", "mset": "*K:V", "msetnx": "*K:V", "incr": "K", "decr": "K", "incrby": "K I", "decrby": "K I",
	"incrbyfloat": "K F", "append": "K V", "strlen": "K", "getrange": "K I I", "substr": "K I I", "setrange": "K O V",
	"del": "*K", "unlink": "*K", "exists": "*K", "touch": "*K", "type": "K", "keys": "P", "rename": "K K", "renamenx": "K K", "dbsize": "",
	"expire": "K T ?NX ?XX ?GT ?LT", "pexpire": "K T ?NX", "ttl": "K", "persist": "K",
	"lpush": "K *V", "rpush": "K *V", "lpushx": "K *V", "rpushx": "K *V", "lpop": "K ?I", "rpop": "K ?I", "llen": "K", "lindex": "K I", "lset": "K I V",
	"linsert": "K BEFORE V V", "lrange": "K I I", "lrem": "K I V", "ltrim": "K I I", "lmove": "K K LEFT RIGHT", "rpoplpush": "K K", "lpos": "K V ?RANK:I ?COUNT:I ?MAXLEN:I",
	"hset": "K *M:V", "hmset": "K *M:V", "hsetnx": "K M V", "hget": "K M", "hmget": "K *M", "hdel": "K *M", "hexists": "K M", "hlen": "K", "hstrlen": "K M", "hgetall": "K",
	"hkeys": "K", "hvals": "K", "hincrby": "K M I", "hincrbyfloat": "K M F", "hscan": "K 0 ?COUNT:100 ?MATCH:P",
	"sadd": "K *M", "srem": "K *M", "scard": "K", "sismember": "K M", "smismember": "K *M", "smembers": "K", "smove": "K K M", "sinter": "*K", "sunion": "*K", "sdiff": "*K",
	"sinterstore": "K *K", "sunionstore": "K *K", "sdiffstore": "K *K", "srandmember": "K ?N", "sscan": "K 0 ?COUNT:100 ?MATCH:P",
	"zadd": "K ?NX ?XX ?GT ?LT ?CH ?INCR *F:M", "zincrby": "K F M", "zrem": "K *M", "zcard": "K", "zscore": "K M", "zmscore": "K *M", "zrank": "K M", "zrevrank": "K M",
	"zpopmin": "K ?I", "zpopmax": "K ?I", "zrange": "K S S ?BYSCORE ?REV ?LIMIT:I:I ?WITHSCORES", "zrevrange": "K I I ?WITHSCORES",
	"zrangebyscore": "K S S ?WITHSCORES ?LIMIT:I:I", "zrevrangebyscore": "K S S ?WITHSCORES ?LIMIT:I:I", "zrangebylex": "K L L ?LIMIT:I:I", "zrevrangebylex": "K L L ?LIMIT:I:I",
	"zcount": "K S S", "zlexcount": "K L L", "zremrangebyrank": "K I I", "zremrangebyscore": "K S S", "zremrangebylex": "K L L",
	"zscan": "K 0 ?COUNT:100",
	"xadd":  "K ?NOMKSTREAM ?MAXLEN:I D *M:V", "xlen": "K", "xrange": "K D D ?COUNT:I", "xrevrange": "K D D ?COUNT:I", "xdel": "K *D", "xtrim": "K MAXLEN I", "xread": "?COUNT:I STREAMS K D",
	"echo": "V", "ping": "?V", "multi": "", "exec": "", "discard": "", "watch": "*K", "unwatch": "",
}

// unordered are commands whose replies are in the order of a hash table, and loose those of which only the kind of reply is compared.
var (
	unordered = strings.Fields("hgetall hkeys hvals hscan keys sinter smembers sdiff sscan sunion zscan")
	loose     = []string{"srandmember"}
)

// edges are arguments at the ends of what Redis reads.
var edges = []string{
	"0", "1", "-1", "2", "3", "-2", "10", "100", "-100", "2147483647", "-2147483648", "4294967296", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
	"18446744073709551615", "1.5", "-0", "+1", "01", " 1", "1 ", "", "abc", "nan", "inf", "-inf", "+inf", "1e3", "0x10", "1e400", ".5", "5.", "-", "+", "(", "[", "$", ">", "*", "\x00", "\xff", "1-", "1-1", "a b",
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// argument makes one argument of a kind.
func argument(r *rand.Rand, kind, command string) string {
	if len(kind) == 1 && r.IntN(25) == 0 {
		return pick(r, edges...)
	}
	switch kind {
	case "K":
		if r.IntN(12) == 0 {
			return pick(r, "str1", "list1", "hash1", "set1", "zset1", "stream1", "none")
		}
		return keyOf(command) + pick(r, "1", "2")
	case "V":
		return pick(r, "a", "b", "c", "10", "3.0", "-5", "1.5", "", "text of a value", "\x00\xff", "9223372036854775807")
	case "M":
		return pick(r, "a", "b", "c", "1", "2", "-7", "", "é")
	case "I":
		return pick(r, "0", "1", "2", "3", "-1", "-2", "-3", "5", "100", "-100", "9223372036854775807", "-9223372036854775808")
	case "F":
		return pick(r, "0", "1", "-1", "1.5", "-2.25", "3", "100", "0.5", "inf", "-inf", "1e3", "4503599627370496")
	case "S":
		return pick(r, "-inf", "+inf", "0", "1", "(1", "3", "(3", "-2.25", "(1.5", "100")
	case "L":
		return pick(r, "-", "+", "[a", "(a", "[b", "(c", "[", "[1")
	case "D":
		return pick(r, "0", "1-1", "1-2", "2-0", "3-5", "5", "0-0", "0-1", "18446744073709551615-18446744073709551615", "-", "+", "$", ">", "(1-1")
	case "T":
		return pick(r, "0", "-1", "1000", "100000", "9223372036854775807", "-9223372036854775808")
	case "O":
		return pick(r, "0", "1", "7", "8", "9", "100", "-1", "4294967296")
	case "N":
		return pick(r, "0", "1", "2", "-3", "50")
	case "P":
		return pick(r, "*", "a*", "?", "[a-c]", "[^a]", "\\*", "s*1", "**", "")
	}
	return kind
}

// keyOf names the keys that mostly have the command's type.
func keyOf(command string) string {
	switch {
	case strings.HasPrefix(command, "l") || strings.HasPrefix(command, "r") && command != "rename" && command != "renamenx":
		return "list"
	case strings.HasPrefix(command, "h"):
		return "hash"
	case strings.HasPrefix(command, "z"):
		return "zset"
	case strings.HasPrefix(command, "x"):
		return "stream"
	case slices.Contains(strings.Fields("sadd srem scard sismember smismember smembers smove sinter sunion sdiff sinterstore sunionstore sdiffstore srandmember sscan"), command):
		return "set"
	}
	return "str"
}

// call makes one command with its arguments, in one of ten cases ill-formed.
func call(r *rand.Rand, name string) []string {
	args := []string{name}
	var required, options [][]string
	for word := range strings.FieldsSeq(grammar[name]) {
		switch rest := word[1:]; word[0] {
		case '?':
			if r.IntN(3) == 0 {
				options = append(options, strings.Split(rest, ":"))
			}
		case '*':
			for range 1 + r.IntN(3) {
				required = append(required, strings.Split(rest, ":"))
			}
		default:
			required = append(required, []string{word})
		}
	}
	r.Shuffle(len(options), func(i, j int) { options[i], options[j] = options[j], options[i] })
	groups := append(required, options...)
	if name == "zadd" || name == "xadd" || name == "xread" { // their options come before what repeats
		at := 1
		if name == "xread" {
			at = 0
		}
		groups = slices.Concat(required[:at], options, required[at:])
	}
	for _, group := range groups {
		for _, kind := range group {
			args = append(args, argument(r, kind, name))
		}
	}
	if r.IntN(10) == 0 {
		args = spoil(r, args)
	}
	return tame(args)
}

// spoil makes a call that is mostly wrong.
func spoil(r *rand.Rand, args []string) []string {
	at := 1
	if len(args) > 2 {
		at = 1 + r.IntN(len(args)-1)
	}
	switch r.IntN(4) {
	case 0:
		return slices.Insert(args, min(at, len(args)), pick(r, edges...))
	case 1:
		if at < len(args) {
			return slices.Delete(args, at, at+1)
		}
	case 2:
		if at < len(args) {
			args[at] = pick(r, edges...)
		}
	case 3:
		if at+1 < len(args) {
			args[at], args[at+1] = args[at+1], args[at]
		}
	}
	return args
}

// tame replaces numbers that would fill the memory of a server, or need it to wait.
func tame(args []string) []string {
	for i, a := range args[1:] {
		n, err := strconv.ParseInt(strings.TrimSpace(a), 0, 64)
		if err != nil {
			continue
		}
		short := strings.Contains(args[0], "ex") || strings.Contains(args[0], "expire") || args[0] == "set"
		switch {
		case args[0] == "setrange" && n > 1000 && n < 1<<32, slices.Contains(loose, args[0]) && n < -100 && n > -1<<62:
			args[1+i] = "100"
		case short && n > 0 && n < 1000: // it would expire on real servers only, whose clocks run
			args[1+i] = "1000000"
		}
	}
	return args
}
