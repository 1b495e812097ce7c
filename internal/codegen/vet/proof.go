package vet

import (
	"math"
	"strings"

	"github.com/yuin/gopher-lua/pm"
)

// A proof is the one value that an expression has if its key had no expiry when the command ran: because the key was missing, or this
// call has just made it. A condition that excludes this value proves that the key has an expiry, because every call leaves one.
type proof struct {
	key   string
	epoch int // of the key's ttl
	kind  proofKind
	n     float64
	name  string // the number argument that it is; of a text, the text
}

type proofKind byte

const (
	proofNil proofKind = iota
	proofFalse
	proofTrue
	proofNumber
	proofName  // a number argument of the caller
	proofText  // a text of the number n, or of no number if n is NaN
	proofEmpty // an empty table
	proofGaps  // a table of false
	proofTable // any other table or value
	proofFalsy // nil or false
)

// print adds a proof to a hash.
func (p *proof) print(h print) print {
	if p == nil {
		return h
	}
	return h.word(p.key).number(p.epoch).number(int(p.kind)).number(int(p.n)).word(p.name)
}

func (p *proof) and(other *proof) *proof {
	if p == nil || other == nil || p != other && *p != *other {
		return nil
	}
	return p
}

// with returns the same proof about another value.
func (p *proof) with(kind proofKind, n float64) *proof {
	return &proof{key: p.key, epoch: p.epoch, kind: kind, n: n}
}

func (p *proof) bool(b bool) *proof {
	if b {
		return p.with(proofTrue, 0)
	}
	return p.with(proofFalse, 0)
}

func (p *proof) truthy() bool {
	return p.kind != proofNil && p.kind != proofFalse && p.kind != proofFalsy
}

// vague reports whether only its truth is known, or whose argument it is.
func (p *proof) vague() bool {
	return p.kind == proofName || p.kind == proofTable || p.kind == proofFalsy
}

func (p *proof) not() *proof {
	if p == nil {
		return nil
	}
	return p.bool(!p.truthy())
}

// number returns the proof after tonumber.
func (p *proof) number() *proof {
	switch {
	case p == nil:
		return nil
	case p.kind == proofText && p.n == p.n:
		return p.with(proofNumber, p.n)
	case p.kind == proofNumber, p.kind == proofName:
		return p
	case p.kind == proofText:
		return p.with(proofNil, 0)
	}
	return nil
}

// unmatched returns the proof of what string.match and string.find return if a text does not match a pattern.
func (p *proof) unmatched(pattern value) *proof {
	if p == nil || p.kind != proofText || pattern.literal == nil {
		return nil
	}
	if found, err := pm.Find(*pattern.literal, []byte(p.name), 0, 1); err != nil || len(found) > 0 {
		return nil
	}
	return p.with(proofNil, 0)
}

func (p *proof) length() *proof {
	if p == nil || p.kind != proofEmpty {
		return nil
	}
	return p.with(proofNumber, 0)
}

func (p *proof) element() *proof {
	switch {
	case p == nil:
	case p.kind == proofEmpty:
		return p.with(proofNil, 0)
	case p.kind == proofGaps:
		return p.with(proofFalse, 0)
	}
	return nil
}

// then returns the proof after `and` (goesOn is true) or `or` with a value on the right.
func (p *proof) then(goesOn bool, right value) *proof {
	switch {
	case p == nil:
		return nil
	case p.truthy() != goesOn:
		return p
	case right.proof != nil && right.proof.key == p.key && right.proof.epoch == p.epoch:
		return right.proof
	}
	return p.constant(right)
}

// joined returns the proof of the right side of `and` (goesOn is true) or `or` for the whole, of whose left side nothing is known: a
// right side that is false makes `and` false in any case.
func (p *proof) joined(goesOn bool) *proof {
	if p == nil || p.truthy() == goesOn {
		return nil
	}
	if goesOn {
		return p.with(proofFalsy, 0)
	}
	return p.with(proofTable, 0)
}

// constant returns the proof of a value that is the same in any case.
func (p *proof) constant(v value) *proof {
	n, isNumeric := v.number()
	switch {
	case v.lenient:
	case v.literal != nil && v.only(isNumber):
		return p.with(proofNumber, n)
	case v.literal != nil && v.only(isStr):
		if !isNumeric {
			n = math.NaN()
		}
		text := p.with(proofText, n)
		text.name = *v.literal
		return text
	case v.only(isNil):
		return p.with(proofNil, 0)
	case v.only(isTrue), v.only(isFalse):
		return p.bool(v.only(isTrue))
	}
	return nil
}

// learn settles the expiry of a key on a path where a value is true or false, if a missing key gives the opposite.
func (p *proof) learn(s *state, truth bool) {
	if p == nil || p.truthy() == truth {
		return
	}
	t := s.ttl.at(p.key)
	if t.settled || t.proven || t.epoch != p.epoch {
		return
	}
	s.ttl = s.ttl.with(p.key, ttl{settled: len(t.pending) > 0, proven: true, below: t.below, few: t.few, epoch: t.epoch, most: t.most})
}

// operands returns the proofs of both sides of an operation: one is a proof, and the other a constant or of the same key.
func operands(a, b value) (x, y *proof) {
	x, y = a.proof, b.proof
	switch {
	case x == nil && y == nil:
		return nil, nil
	case x == nil:
		x = y.operand(a)
	case y == nil:
		y = x.operand(b)
	}
	if x == nil || y == nil || x.key != y.key || x.epoch != y.epoch {
		return nil, nil
	}
	return x, y
}

func (p *proof) operand(v value) *proof {
	if c := p.constant(v); c != nil || v.name() == "" {
		return c
	}
	return &proof{key: p.key, epoch: p.epoch, kind: proofName, name: v.name()}
}

// compareProof returns the proof of a comparison.
func compareProof(operator string, a, b value) *proof {
	x, y := operands(a, b)
	if x == nil {
		return rangeProof(operator, a, b)
	}
	switch {
	case x.kind == proofName && y.kind == proofName && x.name == y.name:
		return x.bool(strings.Contains(operator, "=") && operator != "~=")
	case x.vague() || y.vague():
		return nil
	case operator == "==" || operator == "~=":
		same := x.kind == y.kind && x.n == y.n
		if x.kind == proofText && y.kind == proofText && (same || x.n != x.n || y.n != y.n) {
			return nil // two texts of one number may differ
		}
		return x.bool(same == (operator == "=="))
	case x.kind != proofNumber || y.kind != proofNumber:
		return nil
	}
	switch operator {
	case "<":
		return x.bool(x.n < y.n)
	case "<=":
		return x.bool(x.n <= y.n)
	case ">":
		return x.bool(x.n > y.n)
	case ">=":
		return x.bool(x.n >= y.n)
	}
	return nil
}

// rangeProof returns the proof of a comparison with a number of which only the range is known.
func rangeProof(operator string, a, b value) *proof {
	x, y, p := a.interval(), b.interval(), a.proof
	switch {
	case p != nil && b.proof == nil && p.kind == proofNumber:
		x = between(p.n, p.n)
	case b.proof != nil && a.proof == nil && b.proof.kind == proofNumber:
		p = b.proof
		y = between(p.n, p.n)
	default:
		return nil
	}
	truth, sure := holds(operator, x, y)
	if !sure {
		return nil
	}
	return p.bool(truth)
}

// arithmeticProof returns the proof of a calculation.
func arithmeticProof(operator string, a, b value) *proof {
	if operator == "*" || operator == "/" || operator == "^" {
		return nil
	}
	x, y := operands(a, b)
	x, y = x.number(), y.number()
	if x == nil || y == nil || x.kind != proofNumber || y.kind != proofNumber {
		return nil
	}
	switch operator {
	case "+":
		return x.with(proofNumber, x.n+y.n)
	case "-":
		return x.with(proofNumber, x.n-y.n)
	case "%":
		if y.n > 0 {
			return x.with(proofNumber, x.n-math.Floor(x.n/y.n)*y.n)
		}
	}
	return nil
}

// chosenProof returns the proof of math.min or math.max of a number and another.
func chosenProof(name string, a, b value) *proof {
	if a.proof == nil {
		a, b = b, a
	}
	p, in := a.proof, b.interval()
	switch {
	case p == nil || p.kind != proofNumber || b.proof != nil || !in.known || in.sure != bothEnds:
	case name == "math.min" && in.low >= p.n, name == "math.max" && in.high <= p.n:
		return p
	case in.low == in.high:
		return p.with(proofNumber, in.low)
	}
	return nil
}

// proves returns the proof of a command's reply, before the command's own effect on the expiry.
func (r *run) proves(s *state, cmd *command, args []value, keys []int) *proof {
	if len(keys) != 1 || len(args[keys[0]].keys()) != 1 || args[keys[0]].lenient {
		return nil
	}
	key := args[keys[0]].keys()[0]
	t := s.ttl.at(key)
	p := &proof{key: key, epoch: t.epoch, kind: proofNumber}
	if t.settled || t.proven {
		return nil
	}
	if len(t.pending) > 0 { // this call wrote it
		switch cmd.name {
		case "TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME":
			return p.with(proofNumber, -1)
		case "LLEN", "SCARD", "HLEN", "ZCARD", "XLEN":
			if t.size > 0 {
				return p.with(proofNumber, float64(t.size))
			}
		}
		return nil
	}
	if made := firstReply(cmd.name, args); made != nil {
		made.key, made.epoch = p.key, p.epoch
		return made
	}
	switch cmd.name {
	case "TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME":
		return p.with(proofNumber, -2)
	case "GETRANGE", "SUBSTR":
		return p.with(proofText, math.NaN())
	case "GET", "GETEX", "HGET", "LINDEX", "ZSCORE", "ZRANK", "ZREVRANK":
		return p.with(proofFalse, 0)
	case "HMGET", "ZMSCORE", "MGET":
		return p.with(proofGaps, 0)
	case "EXISTS", "GETBIT", "SISMEMBER", "HEXISTS", "HSTRLEN", "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "ZCOUNT", "ZLEXCOUNT":
		return p.with(proofNumber, 0)
	}
	switch {
	case cmd.write:
	case cmd.reply == repliesGrowing:
		return p.with(proofNumber, 0)
	case cmd.reply == repliesArray && cmd.name != "SMISMEMBER":
		return p.with(proofEmpty, 0)
	}
	return nil
}
