package vet

import (
	"math"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// storing are the commands that overwrite a key with what they find, and remove it where they find nothing: their reply is then 0. Of sizes
// without an empty key, 0 shows that it is missing.
var (
	storing = set("ZRANGESTORE SUNIONSTORE SINTERSTORE SDIFFSTORE GEOSEARCHSTORE BITOP")
	present = set("EXISTS LLEN SCARD HLEN ZCARD")
)

// vanished splits the path behind a command by whether its reply is 0 because its key does not exist: nothing there waits for an expiry.
func (r *run) vanished(s *state, e *ast.FuncCallExpr, cmd *command, args []value, keys []int, reply value) []outcome {
	if len(keys) == 0 || e == r.unused || reply.lenient || !reply.only(isInt) || !storing[cmd.name] && (!present[cmd.name] || len(keys) > 1) {
		return nil
	}
	names := args[keys[0]].keys()
	if len(names) != 1 || args[keys[0]].lenient || strings.Contains(names[0], ".") || r.declared(names[0]).Several || len(s.ttl.at(names[0]).pending) == 0 {
		return nil
	}
	missing, nothing := s.clone(), reply
	missing.ttl = s.ttl.with(names[0], ttl{epoch: s.ttl.at(names[0]).epoch + 1})
	nothing.literal, nothing.proof, nothing.in = &zeroText, nil, nothing.in.asTold()
	if reply.in = reply.in.narrowed(">=", between(1, 1), true); math.IsInf(reply.in.high, 1) {
		reply.in.high = nonNegative.high
	}
	reply.in = reply.in.asTold()
	return []outcome{{s: missing, vals: []value{nothing}}, {s: s, vals: []value{reply}}}
}

// vanishes reports an expiry of a key that the header declares to last and into which this call writes. A call that only gives it an expiry ends its
// life on purpose.
func (r *run) vanishes(s *state, e *ast.FuncCallExpr, cmd *command, key string, effect expiry) {
	timed := effect == setsTTL || effect == setsFirst
	if !timed || !r.lasts(key) || cmd.name == "GETEX" || cmd.family != "string" && len(s.ttl.at(key).pending) == 0 {
		return
	}
	if at := r.outer(e); r.reportOnce(at, RuleMissingTTL) {
		r.report(at, RuleMissingTTL, "%s expires, with what this call has written, although the header declares it forever: write it without an expiry, or remove the word forever", key)
	}
}
