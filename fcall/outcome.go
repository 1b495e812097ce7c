package fcall

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

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
	{"unknown command", rejection{kind: ErrUnsupported, hint: noFunctions}},
	// Replies to what the client sends before its first call.
	{"DB index is out of range", rejection{hint: "the server has fewer databases than the client's DB option says"}},
	{"SELECT is not allowed in cluster mode", rejection{hint: "a cluster has database 0 only"}},
	{"This instance has cluster support disabled", rejection{hint: "if this is not a cluster, use redis.NewClient"}},
}

const (
	notFound    = "ERR Function not found"
	noFunctions = "the server has no Functions: Redis 7 or Valkey is needed"
)

// A replica's refusal may be inside a proxy's error. A server quotes what comes from a caller.
var readOnlyReply = regexp.MustCompile(`^(?:ERR )?(?:[^'"` + "`" + `]*[: ])?-?READONLY `)

// classify returns the error that says what a failure proves, and whether the call may be sent again.
func classify(fn *Function, r result, attempt int) (error, bool) {
	var reply redis.Error
	switch {
	case errors.Is(r.err, redis.Nil):
		return &ReplyError{Function: fn.String(), Must: "be its results", Got: "nothing"}, false
	case errors.As(r.err, &reply):
		return classifyReply(fn, r, reply.Error(), attempt)
	}
	if r.unsent {
		return &UnavailableError{Function: fn.String(), Attempts: attempt, Cause: r.err}, !errors.Is(r.err, redis.ErrClosed)
	}
	return unknown(fn, "", r.err, attempt), fn.ReadOnly
}

func classifyReply(fn *Function, r result, text string, attempt int) (error, bool) {
	err := r.err
	code, rest, _ := strings.Cut(text, " ")
	inside := strings.Contains(text, " script: ") || strings.Contains(text, "user_function:")
	switch {
	case code == "RLARG":
		return argumentError(fn, clean(fn, rest)), false
	case code == "RLSTATE":
		return stateError(fn, clean(fn, rest)), false
	case slices.Contains(fn.Codes, code):
		return &CodeError{Function: fn.String(), Code: code, Text: clean(fn, rest)}, false
	case inside:
		return scriptError(fn, code, rest, err), false
	case readOnlyReply.MatchString(text):
		code = "READONLY"
	case r.stale:
		return unknown(fn, code, err, attempt), fn.ReadOnly
	case text == notFound:
		return &NotLoadedError{Function: fn.String(), Library: fn.Library.ServerName}, false
	}
	if p, ok := lookup(code, rest); ok {
		return &UnavailableError{
			Function: fn.String(), Code: code, Attempts: attempt,
			Hint: p.hint, Cause: err, kind: p.kind,
		}, p.again
	}
	return unknown(fn, code, err, attempt), false
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
func unknown(fn *Function, code string, err error, attempt int) error {
	if fn.ReadOnly {
		return &UnavailableError{Function: fn.String(), Code: code, Attempts: attempt, Cause: err, readOnly: true}
	}
	return &OutcomeError{Function: fn.String(), Code: code, Cause: err}
}

func argumentError(fn *Function, rest string) error {
	name, must, ok := strings.Cut(rest, " must ")
	if !ok {
		name, must = "an argument", "be what the server says: "+rest
	}
	// The client sends as many keys and arguments as the header says that it was generated from, and a key for each row of a group.
	if name == fn.Name && strings.HasPrefix(must, "be called with ") {
		var keys int
		if n, _ := fmt.Sscanf(must, "be called with %d to %d keys", &keys, &keys); n == 2 {
			must += "; a group has too many rows, or"
		} else {
			must += ";"
		}
		must += fmt.Sprintf(" %s on the server is newer than this client, which was generated from %s: update the service, or run `rlfunc rollback`; if the library is older, run `rlfunc deploy`", fn.Library.ServerName, fn.Library.Version)
	}
	var least, most time.Duration
	if _, err := fmt.Sscanf(must, "be from %d to %d microseconds\n", &least, &most); err == nil {
		must = fmt.Sprintf("be a duration from %s to %s", least*time.Microsecond, most*time.Microsecond)
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

// A server reports the position of an error before the text, after it, or both:
//
//	ERR user_function:7: attempt to index local 'x' (a nil value) script: ratelimit_v1_gcra, on @user_function:7.
//
// A failed redis.call has only the position at the end, where Valkey 9.1 omits the name: `script: on @user_function:7.` The
// first position is where the error was raised, so it is preferred.
const (
	suffixMark = " script: "
	chunkName  = "user_function:"
)

func scriptError(fn *Function, code, rest string, cause error) error {
	e := &ScriptError{Function: fn.String(), Code: code, ReadOnly: fn.ReadOnly, Cause: cause}
	text, behind := cutSuffix(fn, rest)
	text, front := cutPosition(text)
	e.Text = text
	if code != "ERR" {
		e.Text = code + " " + text
	} else if plain := denied(text); plain != "" {
		e.Text = plain
		e.Hint = "`rlfunc acl service` prints the permissions that it needs"
	}
	bundleLine := front
	if bundleLine == 0 {
		bundleLine = behind
	}
	if bundleLine > 0 {
		e.Line = bundleLine
		e.File, e.Line = fn.Library.Locate(bundleLine)
	}
	return e
}

// clean removes the server's position from the text after a code.
func clean(fn *Function, rest string) string {
	rest, _ = cutSuffix(fn, rest)
	return rest
}

// cutSuffix cuts ` script: <function>, on @user_function:<line>.`, with or without the function, from the end. line is 0 if it
// is missing.
func cutSuffix(fn *Function, text string) (string, int) {
	i := strings.LastIndex(text, suffixMark)
	if i < 0 {
		return text, 0
	}
	if end := text[i+len(suffixMark):]; !strings.HasPrefix(end, fn.ServerName) && !strings.HasPrefix(end, "on @"+chunkName) {
		return text, 0
	}
	_, at, _ := strings.Cut(text[i:], chunkName)
	line, _ := leadingInt(at)
	return text[:i], line
}

// cutPosition cuts `user_function:<line>: ` from the beginning.
func cutPosition(text string) (string, int) {
	if rest, ok := strings.CutPrefix(strings.TrimPrefix(text, "@"), chunkName); ok {
		line, rest := leadingInt(rest)
		return strings.TrimPrefix(rest, ": "), line
	}
	return text, 0
}

func leadingInt(s string) (int, string) {
	end := 0
	for end < len(s) && '0' <= s[end] && s[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(s[:end])
	if err != nil {
		return 0, s[end:]
	}
	return n, s[end:]
}

var newlines = strings.NewReplacer("\r\n", " ", "\r", " ", "\n", " ")

func oneLine(s string) string { return newlines.Replace(s) }

// shortKey keeps at most the first four bytes of a key's tag, and less than half: a log must not reveal a subject.
func shortKey(key string) string {
	open := strings.IndexByte(key, '{')
	if open < 0 {
		return quote(shorten(key))
	}
	size := strings.IndexByte(key[open:], '}')
	if size < 0 {
		return quote(shorten(key))
	}
	return oneLine(key[:open+1] + shorten(key[open+1:open+size]) + key[open+size:])
}

func shorten(s string) string {
	if len(s) > 0 && s[0] == foldMark {
		return s // a hash reveals nothing, and its whole text finds the key
	}
	return s[:min(4, len(s)/3)] + "..."
}

// A function runs with the permissions of its caller. If a command inside it lacks one, the server answers ERR, and only the
// text says so. Another ERR may precede it. Redis 7.0 does not name the command:
//
//	ACL failure in script: User api has no permissions to run the 'rpush' command
//	ACL failure in script: No permissions to access a key
//	The user executing the script can't run this command or subcommand
//	The user executing the script can't access at least one of the keys mentioned in the command arguments
var (
	deniedMark    = regexp.MustCompile(`^(?:ERR )?(?:ACL failure in script: |The user executing the script can't )`)
	deniedCommand = regexp.MustCompile(`to run the '([^']+)' command`)
)

// denied says which permission a command inside a function lacked, or returns "" if text is about something else.
func denied(text string) string {
	if !deniedMark.MatchString(text) {
		return ""
	}
	const inside = "no permission inside the function: "
	switch m := deniedCommand.FindStringSubmatch(text); {
	case m != nil:
		return inside + "the user needs +" + m[1]
	case strings.Contains(text, "can't run this command"):
		return inside + "the user lacks permission for a command, and this server does not name it"
	case strings.Contains(text, "key"):
		return inside + "the user lacks permission for a key"
	}
	return ""
}
