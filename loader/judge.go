package loader

import (
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

// codes are the first words of replies that mean the same for every command. %s in a text is what the server said.
var codes = map[string]struct {
	reason Reason
	text   string
}{
	"NOPERM":      {ErrNoPermission, "%s; a deploy needs +function|list and +function|load"},
	"NOAUTH":      {ErrNoPermission, "the server wants a user and a password"},
	"WRONGPASS":   {ErrNoPermission, "the server does not know this user and password"},
	"DENIED":      {ErrNoPermission, "the server is in protected mode and takes local connections only"},
	"READONLY":    {ErrReadOnly, "this is a read-only replica; give the address of its primary"},
	"OOM":         {ErrOutOfMemory, "the server is over its maxmemory and loads nothing; free memory or raise maxmemory"},
	"BUSY":        {ErrBusy, "a script or function has blocked the server for seconds; see FUNCTION STATS, FUNCTION KILL and SCRIPT KILL"},
	"LOADING":     {ErrLoading, "the server is still reading its data after a start; try again when it is done"},
	"MISCONF":     {ErrNotWritable, "the server can not save to disk and refuses writes; its log says why"},
	"NOREPLICAS":  {ErrNotWritable, "the server has fewer good replicas than its min-replicas-to-write and refuses writes"},
	"MASTERDOWN":  {ErrNotWritable, "this is a replica that has lost its primary"},
	"CLUSTERDOWN": {ErrNotWritable, "the cluster is down"},
}

// judge says what the failure of a command means. A command that may have reached the server gets ErrOutcomeUnknown if it
// writes; one that only reads has simply found no answer.
func judge(op, library, node string, writes bool, err error) *Error {
	e := &Error{Op: op, Library: library, Node: node, Cause: err}
	var reply redis.Error
	if errors.As(err, &reply) {
		code, _, _ := strings.Cut(reply.Error(), " ")
		known, ok := codes[code]
		switch {
		case ok:
			e.Reason, e.Text = known.reason, strings.Replace(known.text, "%s", reply.Error(), 1)
		case redis.IsMaxClientsError(err):
			e.Reason, e.Text = ErrUnreachable, "the server has as many clients as it takes"
		default:
			e.Reason, e.Text = ErrRejected, "the server answered: "+reply.Error()
		}
		return e
	}
	var malformed listError
	if errors.As(err, &malformed) {
		e.Reason, e.Text = ErrRejected, string(malformed)
		return e
	}
	e.Reason, e.Text = ErrUnreachable, "no answer: "+plainText(err)
	switch unsent := neverSent(err); {
	case writes && !unsent:
		e.Reason = ErrOutcomeUnknown
	case errors.Is(err, context.Canceled):
		e.Reason, e.Text = ErrInterrupted, "interrupted"
	case unsent:
		e.Text = "no connection: " + plainText(err)
	}
	return e
}

// answered tells that a server took part in the failure, so that another try may have another end.
func (e *Error) answered() bool {
	return e.Reason != ErrUnreachable && e.Reason != ErrOutcomeUnknown && e.Reason != ErrInterrupted
}

// neverSent tells errors that come before a command reaches a connection.
func neverSent(err error) bool {
	var op *net.OpError
	var record tls.RecordHeaderError
	var cert *tls.CertificateVerificationError
	var unsent unsentError
	return errors.As(err, &unsent) || errors.As(err, &op) && op.Op == "dial" ||
		errors.As(err, &record) || errors.As(err, &cert) ||
		errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted) || errors.Is(err, redis.ErrClosed)
}

func plainText(err error) string {
	var record tls.RecordHeaderError
	var name x509.HostnameError
	var authority x509.UnknownAuthorityError
	switch {
	case errors.As(err, &record):
		return "the server does not speak TLS here; use redis:// or another port"
	case errors.As(err, &name):
		return oneLine(err.Error()) + "; in a URL ?tls_server_name= says what the certificate is for"
	case errors.As(err, &authority):
		return oneLine(err.Error()) + "; in a URL ?tls_ca= is the file of its authority"
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case errors.Is(err, context.DeadlineExceeded):
		return "out of time (is the address right, and does the server speak TLS if the URL says rediss://?)"
	}
	text := strings.TrimPrefix(oneLine(err.Error()), "redis: ")
	if text == "EOF" {
		return "the server closed the connection (is it a Redis, and is this its port? TLS needs rediss://)"
	}
	return text
}

// loadTimeout ends the reply to a load that took more than 500 ms. It begins with ERR as others do, so that only its text, which is
// the same on all servers, tells it apart.
const loadTimeout = "FUNCTION LOAD timeout"

var bundlePosition = regexp.MustCompile(`@?user_function:(\d+)`)

// rejected is what an ERR reply to FUNCTION LOAD means when the names on the server do not explain it. Positions in the text become the
// author's.
func rejected(op string, lib *fcall.Library, node string, err error) *Error {
	e := &Error{Op: op, Library: lib.ServerName, Node: node, Reason: ErrRejected, Cause: err}
	text := strings.ReplaceAll(strings.TrimPrefix(oneLine(err.Error()), "ERR "), ": ERR ", ": ")
	if strings.HasSuffix(text, loadTimeout) {
		e.Reason = ErrTooSlow
		e.Text = "the library did not load in the 500 ms that a server gives it; do less at the top of its files, or try again when the server is idle"
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
