package loader

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"regexp"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
)

// A Reason is the kind of an Error. Reasons are errors, so errors.Is(err, loader.ErrReadOnly) works on every error of this
// package. In JSON they are strings.
type Reason string

// The reasons.
const (
	// ErrUnreachable: no connection to the node, or no answer in time.
	ErrUnreachable Reason = "unreachable"
	// ErrNoFunctions: the server has no FUNCTION commands: Redis before 7.0, another product, or a managed server that refuses them.
	ErrNoFunctions Reason = "no_functions"
	// ErrNoPermission: the user lacks a permission or is unknown.
	ErrNoPermission Reason = "no_permission"
	// ErrReadOnly: the node is a replica.
	ErrReadOnly Reason = "read_only"
	// ErrOutOfMemory: the server is over its maxmemory and loads nothing.
	ErrOutOfMemory Reason = "out_of_memory"
	// ErrNotReady: the server refuses work at the moment: it is busy, still reads its data, or takes no writes.
	ErrNotReady Reason = "not_ready"
	// ErrRejected: the server refuses the code, for example because it took more than 500 ms to load, or its reply is malformed.
	ErrRejected Reason = "rejected"
	// ErrOutcomeUnknown: the connection broke during a load; the library may be loaded or not.
	ErrOutcomeUnknown Reason = "outcome_unknown"
	// ErrConflict: another library has the library's name or the name of one of its functions.
	ErrConflict Reason = "conflict"
	// ErrDrifted: the node has the same version with other bytes.
	ErrDrifted Reason = "drifted"
	// ErrOlder: the node has an older version, which only a deploy replaces.
	ErrOlder Reason = "older"
	// ErrReplication: a replica does not hold its primary's library, or has not confirmed that it does.
	ErrReplication Reason = "replication"
	// ErrChanged: the libraries or the server changed since they were read, or another operation took the place of this one.
	ErrChanged Reason = "changed"
	// ErrUnfinished: the deploy of a higher version has not ended.
	ErrUnfinished Reason = "unfinished"
	// ErrNoRecord: no release is recorded to roll back to.
	ErrNoRecord Reason = "no_record"
	// ErrInUse: the library has clients.
	ErrInUse Reason = "in_use"
	// ErrInterrupted: the context was cancelled; nothing was sent after that.
	ErrInterrupted Reason = "interrupted"
	// ErrLibrary: the given library is inconsistent.
	ErrLibrary Reason = "bad_library"
	// ErrPlan: the plan is invalid.
	ErrPlan Reason = "bad_plan"
	// ErrURL: the URL is malformed.
	ErrURL Reason = "bad_url"
	// ErrUnsupported: this kind of client or URL is not a target.
	ErrUnsupported Reason = "unsupported"
)

// Error returns the reason with spaces.
func (r Reason) Error() string { return strings.ReplaceAll(string(r), "_", " ") }

// An Error is one failure, on one line. errors.Is finds its Reason and its Cause.
type Error struct {
	Op      string `json:"op"`                // "load"
	Library string `json:"library,omitempty"` // "ratelimit_v1"
	Node    string `json:"node,omitempty"`    // "127.0.0.1:7001"
	Reason  Reason `json:"reason"`
	Text    string `json:"text"` // what failed, why, and what to do
	Cause   error  `json:"-"`
}

// Error returns the whole text, `load ratelimit_v1 on 127.0.0.1:7001: ...`.
func (e *Error) Error() string {
	s := e.Op
	if e.Library != "" {
		s += " " + e.Library
	}
	if e.Node != "" {
		s += " on " + e.Node
	}
	return s + ": " + oneLine(e.Text)
}

// Is reports whether target is e's Reason.
func (e *Error) Is(target error) bool { return target == e.Reason }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

var newlines = strings.NewReplacer("\r\n", " ", "\r", " ", "\n", " ")

func oneLine(s string) string { return strings.TrimSpace(newlines.Replace(s)) }

// codes are the first words of replies that mean the same for every command. %s in a text is the server's reply.
var codes = map[string]struct {
	reason Reason
	text   string
}{
	"NOPERM":      {ErrNoPermission, "%s; a deploy needs +function|list and +function|load"},
	"NOAUTH":      {ErrNoPermission, "the server requires a user and a password"},
	"WRONGPASS":   {ErrNoPermission, "the server does not know this user and password"},
	"DENIED":      {ErrNoPermission, "the server is in protected mode and takes local connections only"},
	"READONLY":    {ErrReadOnly, "this is a read-only replica; give the address of its primary"},
	"OOM":         {ErrOutOfMemory, "the server is over its maxmemory and loads nothing; free memory or raise maxmemory"},
	"BUSY":        {ErrNotReady, "a script or function has blocked the server for seconds; see FUNCTION STATS, FUNCTION KILL and SCRIPT KILL"},
	"LOADING":     {ErrNotReady, "the server is still reading its data after a start; try again when it is done"},
	"MISCONF":     {ErrNotReady, "the server cannot save to disk and refuses writes; see its log"},
	"NOREPLICAS":  {ErrNotReady, "the server has fewer good replicas than its min-replicas-to-write and refuses writes"},
	"MASTERDOWN":  {ErrNotReady, "this is a replica that has lost its primary"},
	"CLUSTERDOWN": {ErrNotReady, "the cluster is down"},
}

// classify returns what the failure of a command means. A write that may have reached the server is ErrOutcomeUnknown; a read
// without an answer is ErrUnreachable.
func classify(op, library, node string, writes bool, err error) *Error {
	e := &Error{Op: op, Library: library, Node: node, Cause: err}
	var reply redis.Error
	if errors.As(err, &reply) {
		code, _, _ := strings.Cut(reply.Error(), " ")
		known, ok := codes[code]
		switch {
		case ok:
			e.Reason, e.Text = known.reason, strings.Replace(known.text, "%s", reply.Error(), 1)
		case redis.IsMaxClientsError(err):
			e.Reason, e.Text = ErrUnreachable, "the server has reached maxclients"
		default:
			e.Reason, e.Text = ErrRejected, "the server answered: "+reply.Error()
		}
		return e
	}
	var malformed formatError
	if errors.As(err, &malformed) {
		e.Reason, e.Text = ErrRejected, string(malformed)
		return e
	}
	e.Reason, e.Text = ErrUnreachable, "no answer: "+plainText(err)
	switch unsent := notSent(err); {
	case writes && !unsent:
		e.Reason = ErrOutcomeUnknown
	case errors.Is(err, context.Canceled):
		e.Reason, e.Text = ErrInterrupted, "interrupted"
	case unsent:
		e.Text = "no connection: " + plainText(err)
	}
	return e
}

// notSent reports whether an error occurred before the command reached a connection.
func notSent(err error) bool {
	var op *net.OpError
	var record tls.RecordHeaderError
	var cert *tls.CertificateVerificationError
	return errors.As(err, &op) && op.Op == "dial" || errors.As(err, &record) || errors.As(err, &cert) ||
		errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted) || errors.Is(err, redis.ErrClosed)
}

// answered reports whether the server answered, so that it is still worth asking.
func (e *Error) answered() bool {
	return e.Reason != ErrUnreachable && e.Reason != ErrOutcomeUnknown && e.Reason != ErrInterrupted
}

func plainText(err error) string {
	var record tls.RecordHeaderError
	var name x509.HostnameError
	var authority x509.UnknownAuthorityError
	switch {
	case errors.As(err, &record):
		return "the server does not use TLS on this port; use redis:// or another port"
	case errors.As(err, &name):
		return oneLine(err.Error()) + "; set the name in the certificate with ?tls_server_name= in the URL"
	case errors.As(err, &authority):
		return oneLine(err.Error()) + "; set the file of its authority with ?tls_ca= in the URL"
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case errors.Is(err, context.DeadlineExceeded):
		return "timed out; check the address, and that the server uses TLS if the URL begins with rediss://"
	}
	text := strings.TrimPrefix(oneLine(err.Error()), "redis: ")
	if text == "EOF" {
		return "the server closed the connection; check the port, and use rediss:// for TLS"
	}
	return text
}

var bundlePosition = regexp.MustCompile(`@?user_function:(\d+)`)

// reject makes e the error of an ERR reply to FUNCTION LOAD. It translates positions in the text to the author's.
func (e *Error) reject(lib *fcall.Library, err error) {
	text := strings.ReplaceAll(strings.TrimPrefix(oneLine(err.Error()), "ERR "), ": ERR ", ": ")
	if strings.HasSuffix(text, "FUNCTION LOAD timeout") { // the same on all servers, and the first word is ERR
		e.Text = "the library did not load within the server's limit of 500 ms; do less at the top of its files, or try again when the server is idle"
		return
	}
	e.Text = "the server refuses the library: " + bundlePosition.ReplaceAllStringFunc(text, func(match string) string {
		line, _ := strconv.Atoi(match[strings.IndexByte(match, ':')+1:])
		file, at := lib.Locate(line)
		return cmp.Or(file, lib.ServerName+" bundle") + ":" + strconv.Itoa(at)
	})
}

// stateCommands are the commands that a deploy needs besides FUNCTION, on keys of keyPattern.
const stateCommands = "+time +watch +unwatch +multi +exec +discard +incr +hset +hget +hdel +hgetall +rpush +ltrim +lrange"

// recordError returns why the records could not be read or written.
func recordError(err error) *Error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	e := classify("keep the records", "", "", true, err)
	var reply redis.Error
	if !errors.As(err, &reply) {
		return e
	}
	switch code, _, _ := strings.Cut(reply.Error(), " "); {
	case code == "NOPERM" && !strings.Contains(reply.Error(), "'function|"):
		e.Text = reply.Error() + "; a deploy keeps records on the server and needs ~" + keyPattern + " " + stateCommands + " (see `rlfunc acl deployer`)"
	case code == "MOVED", code == "ASK":
		e.Reason = ErrUnsupported
		e.Text = "another node of the cluster has the records: use redis+cluster://, and try again if slots are moving"
	case code == "WRONGTYPE":
		e.Text = "a key that begins with rlfunc:{deploy} holds something that rlfunc did not write: " + reply.Error()
	}
	return e
}
