package vet

import "slices"

// firstReply returns the reply of a write that makes its key.
func firstReply(name string, args []value) *proof {
	number := func(n int) *proof { return &proof{kind: proofNumber, n: float64(n)} }
	switch name {
	case "INCR", "SETNX", "HSETNX", "PFADD":
		return number(1)
	case "DECR":
		return number(-1)
	case "SETBIT":
		return number(0)
	case "INCRBY", "HINCRBY":
		by := args[len(args)-1]
		if n, ok := by.number(); ok {
			return &proof{kind: proofNumber, n: n}
		}
		if by.name() != "" {
			return &proof{kind: proofName, name: by.name()}
		}
	case "SET":
		if hasWord(args, "NX") && !hasWord(args, "GET") {
			return &proof{kind: proofTable}
		}
		if hasWord(args, "XX") || hasWord(args, "GET") {
			return &proof{kind: proofFalse}
		}
	default:
		if n := firstSize(name, args); n > 0 {
			return number(n)
		}
	}
	return nil
}

// firstSize returns the number of elements in a key that a command makes, or 0 if that is unknown.
func firstSize(name string, args []value) int {
	switch {
	case name == "RPUSH" || name == "LPUSH":
		return len(args) - 1
	case name == "SADD" && len(args) == 2, name == "HSET" && len(args) == 3, name == "HSETNX", name == "ZADD" && addsOne(args):
		return 1
	case name == "HSET" && len(args) == 5 && different(args[1], args[3]):
		return 2
	}
	return 0
}

// addsOne reports whether ZADD returns 1 because it adds its one member to a missing key.
func addsOne(args []value) bool {
	options := args[1:max(len(args)-2, 1)]
	return len(args) >= 3 && !slices.ContainsFunc(options, func(v value) bool { return !isOneOf(v, "NX", "GT", "LT", "CH") })
}

func different(a, b value) bool {
	return a.literal != nil && b.literal != nil && *a.literal != *b.literal
}
