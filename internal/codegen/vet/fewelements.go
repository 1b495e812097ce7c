package vet

import "slices"

// sizes are the commands that count all elements of a key.
var sizes = set("HLEN LLEN SCARD ZCARD XLEN")

// fewElements returns what a comparison of a key's number of elements says: with this truth, one command may read all of them.
func fewElements(operator string, a, b value) *order {
	if a.rares().count == "" {
		a, b, operator = b, a, mirrored[operator]
	}
	key, limit := a.rares().count, b.interval()
	if key == "" || b.rares().count != "" || b.lenient || !limit.known || limit.related || limit.sure&highEnd == 0 || limit.high > mostRead || operator == "~=" {
		return nil
	}
	return &order{keys: []string{key}, few: true, truth: operator[0] != '>'}
}

// fewIn reports whether all keys of a command hold few elements.
func (s *state) fewIn(args []value, keys []int) bool {
	return s.each(args, keys, func(t ttl) bool { return t.few })
}

// trims reports whether LTRIM leaves few elements in a list.
func trims(args []value) bool {
	first, last := valueAt(args, 1).interval(), valueAt(args, 2).interval()
	if !first.known || !last.known || first.related || last.related {
		return false
	}
	head := first.low == 0 && first.high == 0 && last.low >= 0 && last.high < mostRead
	tail := last.low == -1 && last.high == -1 && first.low >= -mostRead && first.high < 0
	return head || tail
}

// searched are the commands whose reply shows what a list holds: behind one, LREM of a number of elements is assumed to find them.
var searched = set("LINDEX LRANGE LPOS")

// finds reports whether a command removes a number of elements from a list whose elements the call has read.
func (r *run) finds(name string, args []value) bool {
	return name == "LREM" && literal(valueAt(args, 1)) != "0" && len(args[0].keys()) == 1 && r.listed[args[0].keys()[0]]
}

// exists reports whether all keys of a command exist.
func (s *state) exists(args []value, keys []int) bool {
	return s.each(args, keys, func(t ttl) bool { return t.proven || t.settled })
}

func (s *state) each(args []value, keys []int, holds func(ttl) bool) bool {
	for _, i := range keys {
		names := args[i].keys()
		if len(names) == 0 || args[i].lenient || slices.ContainsFunc(names, func(key string) bool { return !holds(s.ttl.at(key)) }) {
			return false
		}
	}
	return len(keys) > 0
}

// falseIfMissing are commands whose reply is false only if their key is missing, which a size before them shows.
var falseIfMissing = set("LPOP RPOP SPOP SRANDMEMBER HRANDFIELD ZRANDMEMBER")

// bounding returns how to bound a command that reads as much as its key holds.
func bounding(name string) string {
	switch name {
	case "LREM":
		return "compare LLEN before, or let LTRIM leave at most 10,000 elements before"
	case "HGETALL", "HKEYS", "HVALS":
		return "compare HLEN before"
	case "SMEMBERS":
		return "compare SCARD before"
	}
	return "bound it"
}
