package vet

import (
	"math"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// mostRead is the greatest number of elements that one command may read.
const mostRead = 10_000

// wholeContent returns why a command reads as much as its key holds, or "".
func wholeContent(name string, args []value) string {
	at := func(i int) value {
		if i < len(args) {
			return args[i]
		}
		return value{}
	}
	all := name + " reads the whole content of its key"
	byScore := hasWord(args, "BYSCORE", "BYLEX")
	switch name {
	case "HGETALL", "HKEYS", "HVALS", "SMEMBERS", "SUNION", "SINTER", "SDIFF", "ZUNION", "ZINTER", "ZDIFF", "SUNIONSTORE", "SINTERSTORE", "SDIFFSTORE":
		return all
	case "LCS":
		return "LCS compares every byte of one key with every byte of the other"
	case "XREAD", "XREADGROUP", "XINFO":
		i := wordFrom(0, args, "COUNT")
		switch {
		case i >= 0 && literal(at(i+1)) == "0":
			return name + " with COUNT 0 reads as much as its key holds"
		case i >= 0:
			return counted(name, at(i+1))
		case name != "XINFO":
			return name + " without COUNT reads as much as its key holds"
		}
	case "XPENDING", "XAUTOCLAIM":
		count := at(4)
		if i := wordAt(args, "COUNT"); name == "XAUTOCLAIM" && i >= 0 {
			count = at(i + 1)
		} else if name == "XAUTOCLAIM" {
			return ""
		}
		if strings.EqualFold(literal(at(2)), "IDLE") {
			count = at(6)
		}
		return counted(name, count)
	case "SINTERCARD", "ZINTERCARD":
		if i := wordAt(args, "LIMIT"); i < 0 || literal(at(i+1)) == "0" {
			return name + " without LIMIT visits the whole content of its keys"
		}
	case "GEOSEARCH", "GEOSEARCHSTORE":
		i := wordAt(args, "COUNT")
		if i < 0 {
			return name + " without COUNT reads as much as its key holds"
		}
		return counted(name, at(i+1))
	case "LPOS":
		if i := wordAt(args, "MAXLEN"); i < 0 || literal(at(i+1)) == "0" {
			return "LPOS without MAXLEN, or with 0, searches the whole list"
		}
	case "LINSERT":
		if word := strings.ToUpper(literal(at(1))); (word == "BEFORE" || word == "AFTER") && !overlaps(at(2).reply, args[0].keys()) {
			return "LINSERT searches the whole list for an element that may be missing"
		}
	case "LREM":
		switch {
		case literal(at(1)) == "0":
			return "LREM 0 searches the whole list"
		case len(args) > 2 && !at(2).lenient && !overlaps(at(2).reply, args[0].keys()):
			return "LREM searches the whole list for an element that may be missing"
		}
	case "LRANGE", "ZREVRANGE":
		return ranged(name, at(1), at(2))
	case "ZREMRANGEBYRANK":
		if literal(at(1)) == "0" && literal(at(2)) == "-1" {
			return name + " 0 -1 removes the whole content of its key: use UNLINK"
		}
	case "ZRANGESTORE":
		if len(args) > 0 {
			return wholeContent("ZRANGE", args[1:])
		}
	case "ZRANGE":
		if !byScore {
			return ranged(name, at(1), at(2))
		}
		return scored(name, args)
	case "ZRANGEBYSCORE", "ZREVRANGEBYSCORE", "ZRANGEBYLEX", "ZREVRANGEBYLEX", "XRANGE", "XREVRANGE":
		return scored(name, args)
	case "LPOP", "RPOP", "SPOP", "SRANDMEMBER", "HRANDFIELD", "ZRANDMEMBER", "ZPOPMIN", "ZPOPMAX":
		return counted(name, at(1))
	case "HSCAN", "SSCAN", "ZSCAN", "LMPOP", "ZMPOP":
		if i := wordAt(args, "COUNT"); i >= 0 {
			return counted(name, at(i+1))
		}
	}
	return ""
}

func overlaps(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

func literal(v value) string {
	if v.literal == nil {
		return ""
	}
	return *v.literal
}

// ranged checks a range of ranks.
func ranged(name string, first, last value) string {
	a, b := first.interval(), last.interval()
	why := name + " reads as much as its key holds unless its ends, literals or numbers bounded by their @arg, are at most 10,000 elements apart, as 0 99"
	switch {
	case last.content && !first.content, last.anyNumber() && !first.anyNumber():
		return why
	case !a.known || !b.known || last.in.related || first.in.related:
		return ""
	case a.low >= 0 && b.low < 0, a.low < 0 && b.high >= 0 && b.low >= 0 && a.high < 0:
		return why
	case b.high-a.low > mostRead && !math.IsInf(b.high-a.low, 0):
		return why
	}
	return ""
}

// oneElement reports whether a command reads a range of ranks whose ends are one expression without a call.
func (r *run) oneElement(name string, e *ast.FuncCallExpr, args []value) bool {
	if name != "LRANGE" && name != "ZRANGE" && name != "ZREVRANGE" || hasWord(args, "BYSCORE", "BYLEX") || len(e.Args) < 4 {
		return false
	}
	first := r.pathOf(e.Args[2])
	return first != "" && first == r.pathOf(e.Args[3])
}

// scored checks a range of scores, names or IDs, which has any number of elements.
func scored(name string, args []value) string {
	if i := wordAt(args, "LIMIT"); i >= 0 && i+2 < len(args) {
		if skipped := args[i+1].interval(); skipped.known && !skipped.related && skipped.high > mostRead {
			return name + " skips as many elements as its LIMIT says: bound the first number to 10,000, or begin behind the last score"
		}
		return counted(name, args[i+2])
	}
	if i := wordAt(args, "COUNT"); i >= 0 && i+1 < len(args) {
		return counted(name, args[i+1])
	}
	return name + " without a limit reads as much as its key holds"
}

// counted checks a number of elements.
func counted(name string, count value) string {
	in := count.interval()
	if count.anyNumber() {
		in = between(0, math.Inf(1))
	}
	if count.kinds == 0 || !in.known || in.related || count.in.told && math.IsInf(in.high, 1) || in.low >= -mostRead && in.high <= mostRead && (in.low >= 0 || !strings.HasPrefix(name, "Z") || name == "ZRANDMEMBER") {
		return ""
	}
	return name + " reads as much as its key holds without a count of at most 10,000"
}

// mostElements returns the most elements of a reply that is a table, or 0 if nothing bounds it.
func mostElements(name string, args []value) int32 {
	count, each := interval{}, 1.0
	at := func(i int) interval {
		if i < 0 || i >= len(args) || args[i].lenient {
			return interval{}
		}
		return args[i].interval()
	}
	switch name {
	case "LRANGE", "ZRANGE", "ZREVRANGE", "ZRANGEBYSCORE", "ZREVRANGEBYSCORE", "ZRANGEBYLEX", "ZREVRANGEBYLEX":
		first, last := at(1), at(2)
		switch limit := wordAt(args, "LIMIT"); {
		case limit >= 0:
			count = at(limit + 2)
		case hasWord(args, "BYSCORE", "BYLEX") || strings.Contains(name, "BY"):
		case first.known && last.known && (first.low >= 0) == (last.low >= 0) && (first.low >= 0 || last.high < 0):
			count = between(0, max(last.high-first.low+1, 1))
		}
		if hasWord(args, "WITHSCORES") {
			each = 2
		}
	case "LPOP", "RPOP", "SPOP":
		count = at(1)
	case "ZPOPMIN", "ZPOPMAX":
		if count, each = at(1), 2; len(args) == 1 {
			count = between(1, 1)
		}
	case "SRANDMEMBER", "HRANDFIELD", "ZRANDMEMBER":
		if count = at(1); count.low < 0 {
			count = interval{}
		}
		if hasWord(args, "WITHVALUES", "WITHSCORES") {
			each = 2
		}
	}
	if !count.known || count.related || count.low < 0 || count.high*each > mostTurns {
		return 0
	}
	return int32(max(count.high*each, 1))
}
