package accesslog

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// A Line is a request as a log tells it. Its texts are the log's, of any bytes, and share memory with the lines around it.
type Line struct {
	Number int64     // in the log, from 1
	Time   time.Time // to the microsecond at most
	Addr   string    // the client's address as it stands there, without a port
	Method string    // GET
	Path   string    // the request's target with its query: /v1/chat?lang=en
	User   string    // who has logged in, or an API key; "" where the log has none
	ID     string    // the request's own ID; only where Options.Fields names it
	Status int       // 200; 0 where the log has none
}

// A Bad line is one that can not be read.
type Bad struct {
	Number int64  `json:"line"` // in the log, from 1
	Why    string `json:"why"`
}

func (b Bad) String() string { return fmt.Sprintf("line %d: %s", b.Number, b.Why) }

// A Format is how the lines of a log are written.
type Format string

// The formats.
const (
	Auto   Format = "auto"   // told from the first lines
	Common Format = "common" // Apache's and nginx's common and combined, with anything behind; also behind a virtual host
	JSON   Format = "json"   // one object a line
)

// ParseFormat reads a format's name; combined is read as common is.
func ParseFormat(name string) (Format, error) {
	switch name {
	case "", string(Auto):
		return Auto, nil
	case string(Common), "combined":
		return Common, nil
	case string(JSON):
		return JSON, nil
	}
	return "", fmt.Errorf("format %q: must be auto, common, combined or json", name)
}

var (
	errNoTime    = errors.New("has no time")
	errNoRequest = errors.New(`has no request, METHOD PATH`)
	errTime      = errors.New("the time can not be read")
	errFar       = errors.New("the time is not between 1970 and 2200")
)

// What the engine can count in microseconds, with room to spare.
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

// setTarget keeps what a server routes by: of an absolute URL the path.
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

// isToken tells a method from what a scanner or a TLS client left in the log.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '-' && c != '_' {
			return false
		}
	}
	return s != ""
}

// withoutPort takes the port from an address: 192.0.2.1:443, [2001:db8::1]:443.
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

// given is a text, or nothing where a dash stands for it.
func given(text string) string {
	if text == "-" {
		return ""
	}
	return text
}
