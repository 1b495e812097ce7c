package fcall

import (
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"
)

// A proof is what a reply's first word says about a call of which nothing ran.
type proof struct {
	again bool // worth sending again soon
	kind  error
	hint  string
}

// proofs are the codes that Redis answers before it starts a function. Inside a function the same words carry a suffix.
var proofs = map[string]proof{
	"MOVED":       {again: true, hint: "if this is a cluster, use redis.NewClusterClient"},
	"ASK":         {again: true, hint: "if this is a cluster, use redis.NewClusterClient"},
	"TRYAGAIN":    {again: true},
	"CLUSTERDOWN": {again: true, hint: "the cluster does not serve this slot"},
	"READONLY":    {again: true, hint: "this is a replica; call the primary"},
	"LOADING":     {again: true},
	"MASTERDOWN":  {again: true},
	"BUSY":        {again: true, hint: "another script runs too long; see FUNCTION KILL"},
	"OOM":         {hint: "the server is over maxmemory"},
	"NOREPLICAS":  {hint: "the server has fewer replicas than min-replicas-to-write"},
	"MISCONF":     {hint: "the server can not persist and refuses writes"},
	"CROSSSLOT":   {hint: "all keys of a call must have one tag"},
	"NOSCRIPT":    {hint: "the server does not know the script; the next call brings it"},
	"EXECABORT":   {hint: "another command of the transaction was refused"},
	"NOPERM":      {kind: ErrRefused, hint: "the user needs FCALL, the function's commands and its keys: see `rlfunc acl service`"},
	"NOAUTH":      {kind: ErrRefused, hint: "give the client a user and a password"},
	"WRONGPASS":   {kind: ErrRefused, hint: "check the client's user and password"},
	"DENIED":      {kind: ErrRefused, hint: "the server is in protected mode"},
}

// errProofs are replies that share the word ERR: only their text tells them apart, and it is the same on all servers.
var errProofs = []struct {
	prefix string
	proof
}{
	{"max number of clients reached", proof{again: true}},
	{"unknown command", proof{kind: ErrUnsupported, hint: "the server has no FCALL: functions need Redis 7 or Valkey"}},
}

const notFound = "ERR Function not found"

// judge says what a failure proves, and whether the call may be sent again.
func judge(fn *Function, r result, attempt int) (error, bool) {
	var reply redis.Error
	switch {
	case errors.Is(r.err, redis.Nil):
		return &ReplyError{Function: fn.String(), Must: "be an array or a whole number", Got: "nothing"}, false
	case errors.As(r.err, &reply):
		return judgeReply(fn, r, reply.Error(), attempt)
	case r.fate == notSent:
		return &UnavailableError{Function: fn.String(), Attempts: attempt, Cause: r.err}, !errors.Is(r.err, redis.ErrClosed)
	}
	return unknown(fn, "", "", r.err, attempt), fn.ReadOnly
}

func judgeReply(fn *Function, r result, text string, attempt int) (error, bool) {
	err := r.err
	code, rest, _ := strings.Cut(text, " ")
	inside := strings.Contains(text, " script: ") || strings.Contains(text, "user_function:") || strings.Contains(text, "user_script:")
	switch {
	case code == "RLARG":
		return argumentError(fn, clean(fn, rest)), false
	case code == "RLSTATE":
		return stateError(fn, clean(fn, rest)), false
	case fn.declares(code):
		return &CodeError{Function: fn.String(), Code: code, Text: clean(fn, rest)}, false
	case inside:
		return scriptError(fn, code, rest, text, err), false
	case r.fate == mayHaveRun:
		return unknown(fn, code, text, err, attempt), fn.ReadOnly
	case text == notFound:
		return &NotLoadedError{Function: fn.String(), Library: fn.serverLibrary()}, false
	}
	if p, ok := lookup(code, rest); ok {
		return &UnavailableError{
			Function: fn.String(), Code: code, Server: text, Attempts: attempt,
			Hint: p.hint, Cause: err, kind: p.kind,
		}, p.again
	}
	return unknown(fn, code, text, err, attempt), false
}

func lookup(code, rest string) (proof, bool) {
	if code != "ERR" {
		p, ok := proofs[code]
		return p, ok
	}
	for _, p := range errProofs {
		if strings.HasPrefix(rest, p.prefix) {
			return p.proof, true
		}
	}
	return proof{}, false
}

// unknown is the outcome where nothing is proved; of a function that can not write, nothing needs to be.
func unknown(fn *Function, code, server string, err error, attempt int) error {
	if fn.ReadOnly {
		return &UnavailableError{Function: fn.String(), Code: code, Server: server, Attempts: attempt, Cause: err, readOnly: true}
	}
	return &OutcomeError{Function: fn.String(), Code: code, Server: server, Cause: err}
}

func argumentError(fn *Function, rest string) error {
	name, must, ok := strings.Cut(rest, " must ")
	if !ok {
		name, must = "an argument", "be what the server says: "+rest
	}
	return &ArgumentError{Function: fn.String(), Name: oneLine(name), Must: oneLine(must)}
}

func stateError(fn *Function, rest string) error {
	key, problem, ok := strings.Cut(rest, ": ")
	if !ok {
		problem = "unreadable"
	}
	return &StateError{Function: fn.String(), Key: key, Problem: oneLine(problem)}
}
