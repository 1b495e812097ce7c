package accesslog

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// A Line is a request of a log. Its texts may have any bytes, and share memory with other lines.
type Line struct {
	Number int64     // line number, from 1
	Time   time.Time // truncated to microseconds
	Addr   string    // the client's address as in the log, without a port
	Method string    // such as GET
	Path   string    // request target with its query, such as /v1/chat?lang=en
	User   string    // authenticated user or API key; "" without one
	ID     string    // the request's own ID; "" unless Options.Fields names it
	Status int       // such as 200; 0 without one
}

// A Bad is an invalid line.
type Bad struct {
	Number int64  `json:"line"` // line number, from 1
	Why    string `json:"why"`
}

func (b Bad) String() string { return fmt.Sprintf("line %d: %s", b.Number, b.Why) }

// A Format is the format of a log's lines.
type Format string

// The formats.
const (
	Auto   Format = "auto"   // detected from the first lines
	Common Format = "common" // common or combined, with any text after it, and optionally after a virtual host
	JSON   Format = "json"   // one object per line
)

// ParseFormat parses the name of a format. It accepts combined as another name of common.
func ParseFormat(name string) (Format, error) {
	switch name {
	case "", string(Auto):
		return Auto, nil
	case string(Common), "combined":
		return Common, nil
	case string(JSON):
		return JSON, nil
	}
	return "", fmt.Errorf("format must be auto, common, combined or json, got %q", name)
}

var (
	errNoTime    = errors.New("has no time")
	errNoRequest = errors.New(`has no request, METHOD PATH`)
	errTime      = errors.New("has no valid time")
	errFar       = errors.New("the time must be between 1970 and 2200")
	errStatus    = errors.New("the status must be 0 to 999")
)

// Times that the engine can count in microseconds.
var firstTime, lastTime = time.Unix(0, 0), time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)

func checkTime(t time.Time) (time.Time, error) {
	if t.Before(firstTime) || !t.Before(lastTime) {
		return t, errFar
	}
	return t.Truncate(time.Microsecond), nil
}

// setRequest reads `GET /path HTTP/1.1`.
func (l *Line) setRequest(request string) error {
	method, rest, ok := strings.Cut(request, " ")
	if !ok || !isToken(method) {
		return errNoRequest
	}
	if i := strings.LastIndex(rest, " HTTP/"); i >= 0 {
		rest = rest[:i]
	}
	return l.setTarget(method, rest)
}

// setTarget sets method and path; of an absolute URL it keeps the path.
func (l *Line) setTarget(method, target string) error {
	if strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://") {
		_, target, _ = strings.Cut(target, "://")
		if i := strings.IndexAny(target, "/?"); i >= 0 && target[i] == '/' {
			target = target[i:]
		} else {
			target = "/"
		}
	}
	if target == "" {
		return errNoRequest
	}
	l.Method, l.Path = method, target
	return nil
}

// isToken reports whether s may be a method, unlike the bytes of scanners and TLS clients.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '-' && c != '_' {
			return false
		}
	}
	return s != ""
}

// withoutPort returns an address without its port: 192.0.2.1:443, [2001:db8::1]:443.
func withoutPort(addr string) string {
	if strings.HasPrefix(addr, "[") {
		if i := strings.IndexByte(addr, ']'); i > 0 {
			return addr[1:i]
		}
		return addr
	}
	if i := strings.IndexByte(addr, ':'); i >= 0 && strings.IndexByte(addr[i+1:], ':') < 0 {
		return addr[:i]
	}
	return addr
}

// given returns text, or "" for a dash.
func given(text string) string {
	if text == "-" {
		return ""
	}
	return text
}
