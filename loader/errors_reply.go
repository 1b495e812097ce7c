package loader

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/loader/internal/conn"
	"github.com/rlfunc/rlfunc/loader/internal/resp"
)

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
	"BUSY":        {ErrBusy, "a script or function has blocked the server for seconds; see FUNCTION STATS, FUNCTION KILL and SCRIPT KILL"},
	"LOADING":     {ErrLoading, "the server is still reading its data after a start; try again when it is done"},
	"MISCONF":     {ErrNotWritable, "the server cannot save to disk and refuses writes; see its log"},
	"NOREPLICAS":  {ErrNotWritable, "the server has fewer good replicas than its min-replicas-to-write and refuses writes"},
	"MASTERDOWN":  {ErrNotWritable, "this is a replica that has lost its primary"},
	"CLUSTERDOWN": {ErrNotWritable, "the cluster is down"},
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
	var malformed resp.FormatError
	if errors.As(err, &malformed) {
		e.Reason, e.Text = ErrRejected, string(malformed)
		return e
	}
	e.Reason, e.Text = ErrUnreachable, "no answer: "+plainText(err)
	switch unsent := conn.Unsent(err); {
	case writes && !unsent:
		e.Reason = ErrOutcomeUnknown
	case errors.Is(err, context.Canceled):
		e.Reason, e.Text = ErrInterrupted, "interrupted"
	case unsent:
		e.Text = "no connection: " + plainText(err)
	}
	return e
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

// loadTimeout ends the reply to a load that took more than 500 ms. Its first word is ERR, so only the text, which is the same
// on all servers, identifies it.
const loadTimeout = "FUNCTION LOAD timeout"

var bundlePosition = regexp.MustCompile(`@?user_function:(\d+)`)

// rejected returns the error of an ERR reply to FUNCTION LOAD that the names on the server do not explain. It translates
// positions in the text to the author's.
func rejected(op string, lib *fcall.Library, node string, err error) *Error {
	e := &Error{Op: op, Library: lib.ServerName, Node: node, Reason: ErrRejected, Cause: err}
	text := strings.ReplaceAll(strings.TrimPrefix(oneLine(err.Error()), "ERR "), ": ERR ", ": ")
	if strings.HasSuffix(text, loadTimeout) {
		e.Reason = ErrTooSlow
		e.Text = "the library did not load within the server's limit of 500 ms; do less at the top of its files, or try again when the server is idle"
		return e
	}
	e.Text = "the server refuses the library: " + bundlePosition.ReplaceAllStringFunc(text, func(match string) string {
		line, _ := strconv.Atoi(match[strings.IndexByte(match, ':')+1:])
		file, at := lib.Locate(line)
		if file == "" {
			file = lib.ServerName + " bundle"
		}
		return file + ":" + strconv.Itoa(at)
	})
	return e
}

// stateCommands are the commands that a deploy needs besides FUNCTION, on keys of keyPattern.
const stateCommands = "+time +watch +unwatch +multi +exec +discard +get +getex +set +del +pttl +hset +hget +hdel +hgetall +rpush +ltrim +lrange"

// classifyRecordError returns why the lock, the records or the history could not be read or written.
func classifyRecordError(op, node string, err error) *Error {
	e := classify(op, "", node, true, err)
	var reply redis.Error
	if !errors.As(err, &reply) {
		return e
	}
	switch code, _, _ := strings.Cut(reply.Error(), " "); code {
	case "NOPERM":
		e.Text = reply.Error() + "; a deploy stores its lock and records on the server and needs ~" + keyPattern + " " + stateCommands + "; a user with FUNCTION only deploys with --stateless"
	case "MOVED", "ASK":
		e.Reason = ErrUnsupported
		e.Text = "this is one node of a cluster, and another node has the records: use redis+cluster://"
	case "WRONGTYPE":
		e.Text = "a key that begins with rlfunc:{deploy} holds something that rlfunc did not write: " + reply.Error()
	}
	return e
}
