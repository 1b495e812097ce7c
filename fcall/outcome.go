package fcall

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"
)

// A delivery is what is known of a call that was to be sent.
type delivery int

const (
	replied    delivery = iota // the server answered, possibly with an error
	notSent                    // nothing ran
	mayHaveRun                 // the reply was lost, or is older than the last write
)

// A result is how a call ended. It is all that classify knows about the client below.
type result struct {
	delivery delivery
	reply    any
	err      error
	sent     int  // number of writes, including redirections
	late     bool // its context ended first
}

// result returns the result of a command that has ended with err, or nil.
func (c *command) result(err error) result {
	r := result{err: err, sent: int(c.writes.Load())}
	switch {
	case err == nil:
		c.answered()
		r.reply = c.Val()
	case c.stale():
		r.delivery = mayHaveRun
	case isReply(err) && (r.sent > 0 || !errors.Is(err, redis.Nil)):
	case neverSent(err) || c.unwritten() || errors.Is(err, redis.ErrClosed) && r.sent == 0:
		r.delivery = notSent
	default:
		r.delivery = mayHaveRun
	}
	return r
}

// late returns the result of a command whose context ended before its reply came.
func (c *command) late(ctx context.Context) result {
	if c.abandon() {
		return result{delivery: notSent, err: ctx.Err(), late: true}
	}
	return result{delivery: mayHaveRun, err: ctx.Err(), late: true}
}

// neverSent reports whether an error occurred before the command reached a connection.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" ||
		errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted)
}

func isReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

// A rejection is a reply that proves that nothing ran.
type rejection struct {
	again bool // a retry may succeed soon
	kind  error
	hint  string
}

// rejections are the codes that Redis answers before it starts a function. Errors from inside a function carry a suffix.
var rejections = map[string]rejection{
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
	"MISCONF":     {hint: "the server cannot persist and refuses writes"},
	"CROSSSLOT":   {hint: "all keys of a call must have one tag"},
	"NOSCRIPT":    {hint: "the server does not know the script; the next call brings it"},
	"EXECABORT":   {hint: "another command of the transaction was refused"},
	"NOPERM":      {kind: ErrNoPermission, hint: "the user needs FCALL, the function's commands and its keys: see `rlfunc acl service`"},
	"NOAUTH":      {kind: ErrNoPermission, hint: "give the client a user and a password"},
	"WRONGPASS":   {kind: ErrNoPermission, hint: "check the client's user and password"},
	"DENIED":      {kind: ErrNoPermission, hint: "the server is in protected mode"},
}

// errRejections are replies that begin with ERR. Only their text, which is the same on all servers, distinguishes them.
var errRejections = []struct {
	prefix string
	rejection
}{
	{"max number of clients reached", rejection{again: true}},
	{"unknown command", rejection{kind: ErrUnsupported, hint: "the server has no FCALL: functions need Redis 7 or Valkey"}},
	// Replies to what the client sends before its first call.
	{"DB index is out of range", rejection{hint: "the server has fewer databases than the client's DB option says"}},
	{"SELECT is not allowed in cluster mode", rejection{hint: "a cluster has database 0 only"}},
	{"This instance has cluster support disabled", rejection{hint: "if this is not a cluster, use redis.NewClient"}},
}

const notFound = "ERR Function not found"

// A replica's refusal may be inside a proxy's error, and before Redis 7.0 in that of a script. A server quotes what comes from a caller.
var readOnlyReply = regexp.MustCompile(`^(?:ERR )?(?:[^'"` + "`" + `]*[: ])?-?READONLY `)

// isReadOnly reports whether a replica refused a write. A server does not become a replica while a function runs, so nothing was written
// before it either.
func isReadOnly(text string, inside bool) bool {
	return readOnlyReply.MatchString(text) && (!inside || strings.Contains(text, "READONLY You can't write against a read only"))
}

// classify returns the error that says what a failure proves, and whether the call may be sent again.
func classify(fn *Function, r result, attempt int) (error, bool) {
	var reply redis.Error
	switch {
	// go-redis returns it before it sends anything if a node of the cluster has no name.
	case errors.Is(r.err, redis.Nil) && r.delivery != replied:
		r.err = fmt.Errorf("go-redis cannot read the cluster's nodes (%w); set their cluster-preferred-endpoint-type to ip or hostname", r.err)
	case errors.Is(r.err, redis.Nil):
		return &ReplyError{Function: fn.String(), Must: "be an array or a whole number", Got: "nothing"}, false
	case errors.As(r.err, &reply):
		return classifyReply(fn, r, reply.Error(), attempt)
	}
	if r.delivery == notSent {
		return &UnavailableError{Function: fn.String(), Attempts: attempt, Cause: r.err}, !errors.Is(r.err, redis.ErrClosed)
	}
	return unknown(fn, "", "", r.err, attempt), fn.ReadOnly
}

func classifyReply(fn *Function, r result, text string, attempt int) (error, bool) {
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
	case isReadOnly(text, inside) && r.delivery != mayHaveRun:
		code = "READONLY"
	case inside:
		return scriptError(fn, code, rest, text, err), false
	case r.delivery == mayHaveRun:
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

func lookup(code, rest string) (rejection, bool) {
	if code != "ERR" {
		p, ok := rejections[code]
		return p, ok
	}
	for _, p := range errRejections {
		if strings.HasPrefix(rest, p.prefix) {
			return p.rejection, true
		}
	}
	return rejection{}, false
}

// unknown returns the error of a call that may have run.
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
	// The client sends as many keys and arguments as the header says that it was generated from.
	if name == fn.Name && strings.HasPrefix(must, "be called with ") {
		must += "; " + fn.differs()
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
