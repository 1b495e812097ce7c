package accesslog

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

const commonTime = "02/Jan/2006:15:04:05 -0700"

var errCommon = errors.New(`must be a common or combined log line: ADDRESS - USER [TIME] "REQUEST" STATUS`)

// commonParser reads `ADDRESS IDENT USER [TIME] "REQUEST" STATUS BYTES ...`. It caches the last time, which many lines share.
type commonParser struct {
	text string
	time time.Time
}

func (p *commonParser) parse(text string, l *Line) error {
	head, rest, ok := strings.Cut(text, " [")
	if !ok {
		return errCommon
	}
	if err := l.setClient(head); err != nil {
		return err
	}
	stamp, rest, ok := strings.Cut(rest, `] "`)
	if !ok {
		return errCommon
	}
	if stamp != p.text || p.time.IsZero() {
		t, err := parseCommonTime(stamp)
		if err != nil {
			return err
		}
		p.text, p.time = strings.Clone(stamp), t
	}
	l.Time = p.time
	end := quoteEnd(rest)
	if end < 0 {
		return errCommon
	}
	if err := l.setRequest(unescape(rest[:end])); err != nil {
		return err
	}
	status, _, _ := strings.Cut(strings.TrimPrefix(rest[end+1:], " "), " ")
	if status == "-" {
		return nil
	}
	n, err := strconv.Atoi(status)
	if err != nil || n < 0 || n > 999 {
		return errStatus
	}
	l.Status = n
	return nil
}

// setClient reads `ADDRESS IDENT USER`. A user may contain spaces, and a virtual host may come first.
func (l *Line) setClient(head string) error {
	addr, rest, ok := strings.Cut(head, " ")
	if !ok {
		return errCommon
	}
	ident, user, ok := strings.Cut(rest, " ")
	if !ok || addr == "" {
		return errCommon
	}
	if ident != "-" {
		if _, err := netip.ParseAddr(ident); err == nil {
			if _, err := netip.ParseAddr(addr); err != nil {
				return l.setClient(rest)
			}
		}
	}
	l.Addr, l.User = addr, given(unescape(user))
	return nil
}

func parseCommonTime(text string) (time.Time, error) {
	t, err := time.Parse(commonTime, text)
	if err != nil {
		return t, errTime
	}
	return checkTime(t)
}

// quoteEnd returns the index of the closing quote, or -1. A backslash escapes a quote.
func quoteEnd(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			return i
		case '\\':
			i++
		}
	}
	return -1
}

// unescape decodes \" and \\ of Apache, and \x22 of Apache and nginx.
func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b = append(b, s[i])
			continue
		}
		i++
		if s[i] == 'x' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b = append(b, byte(n))
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}
