package replay

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// A line is a request of a log. Its texts may have any bytes, and share memory with other lines.
type line struct {
	number int64     // from 1
	at     time.Time // truncated to microseconds
	addr   string    // the client's address as in the log
	method string    // such as GET
	path   string    // request target with its query, such as /v1/chat?lang=en
	user   string    // authenticated user or API key; "" without one
	id     string    // the request's own ID; "" unless a JSON line has it
	status int       // such as 200; 0 without one
}

// A Bad is a line that is not decided.
type Bad struct {
	Number int64  `json:"line"` // line number, from 1
	Why    string `json:"why"`
}

func (b Bad) String() string { return fmt.Sprintf("line %d: %s", b.Number, b.Why) }

const (
	blockBytes  = 256 << 10
	longestLine = 1 << 20
)

// A logReader reads a log in blocks of some thousand lines.
type logReader struct {
	in     io.Reader
	number int64
	stamp  string // the last time of a common line, which many lines share
	at     time.Time
	block  []byte // unparsed bytes
	lines  int    // number of lines in the last block, to size the next one
	long   bool   // inside a line that is too long
	ended  error
}

// newLogReader returns a reader of a log, plain or compressed with gzip.
func newLogReader(log io.Reader) (*logReader, error) {
	in := bufio.NewReader(log)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("decompress log: %w", err)
		}
		in = bufio.NewReader(unpacked)
	}
	if mark, _ := in.Peek(3); string(mark) == "\ufeff" {
		_, _ = in.Discard(len(mark))
	}
	return &logReader{in: in}, nil
}

// A block is a part of a log.
type block struct {
	lines []line
	bad   []Bad
}

// next returns the next lines, at least one, without blank ones. At the end it returns io.EOF.
func (r *logReader) next() (*block, error) {
	for {
		text, err := r.fill()
		if text == "" {
			return nil, err
		}
		b := &block{lines: make([]line, 0, r.lines+r.lines/8)}
		for one := range strings.Lines(text) {
			r.read(one, b)
		}
		r.lines = len(b.lines)
		if len(b.lines)+len(b.bad) > 0 {
			return b, nil
		}
	}
}

func (r *logReader) read(text string, b *block) {
	ends, rest := strings.HasSuffix(text, "\n"), r.long
	r.long = (rest || len(text) > longestLine) && !ends
	if rest {
		return // of a line that is in bad already
	}
	r.number++
	if len(text) > longestLine {
		b.bad = append(b.bad, Bad{r.number, "is longer than 1 MiB"})
		return
	}
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	l, parse := line{number: r.number}, r.common
	if text[0] == '{' {
		parse = parseJSON
	}
	if err := parse(text, &l); err != nil {
		b.bad = append(b.bad, Bad{r.number, err.Error()})
		return
	}
	b.lines = append(b.lines, l)
}

// fill reads whole lines, a part of a line that is too long, or the rest of the log.
func (r *logReader) fill() (string, error) {
	for r.ended == nil {
		at := len(r.block)
		r.block = append(r.block, make([]byte, blockBytes)...)
		for at < len(r.block) && r.ended == nil {
			var n int
			n, r.ended = r.in.Read(r.block[at:])
			at += n
		}
		r.block = r.block[:at]
		if end := bytes.LastIndexByte(r.block, '\n'); end >= 0 {
			return r.cut(end + 1), nil
		}
		if len(r.block) > longestLine {
			return r.cut(len(r.block)), nil
		}
	}
	return r.cut(len(r.block)), r.ended
}

func (r *logReader) cut(n int) string {
	text := string(r.block[:n])
	r.block = append(r.block[:0], r.block[n:]...)
	return text
}

var (
	errCommon    = errors.New(`must be a common or combined log line, ADDRESS - USER [TIME] "REQUEST" STATUS, or a JSON object`)
	errNoRequest = errors.New("has no request, METHOD PATH")
	errTime      = errors.New("has no valid time")
	errStatus    = errors.New("the status must be 0 to 999")
)

// common reads `ADDRESS IDENT USER [TIME] "REQUEST" STATUS ...`. A user may contain spaces.
func (r *logReader) common(text string, l *line) (err error) {
	head, rest, inTime := strings.Cut(text, " [")
	stamp, rest, inRequest := strings.Cut(rest, `] "`)
	addr, names, hasIdent := strings.Cut(head, " ")
	_, user, hasUser := strings.Cut(names, " ")
	end := quoteEnd(rest)
	if !inTime || !inRequest || !hasIdent || !hasUser || addr == "" || end < 0 {
		return errCommon
	}
	if stamp != r.stamp || r.at.IsZero() {
		at, err := time.Parse("02/Jan/2006:15:04:05 -0700", stamp)
		if err != nil {
			return errTime
		}
		r.stamp, r.at = strings.Clone(stamp), at
	}
	l.addr = addr
	if user != "-" {
		l.user = unescape(user)
	}
	method, target, _ := strings.Cut(unescape(rest[:end]), " ")
	if i := strings.LastIndex(target, " HTTP/"); i >= 0 {
		target = target[:i]
	}
	if status, _, _ := strings.Cut(strings.TrimPrefix(rest[end+1:], " "), " "); status != "-" {
		if l.status, err = strconv.Atoi(status); err != nil {
			return errStatus
		}
	}
	return l.set(r.at, method, target)
}

// parseJSON reads an object with the fields of fields.
func parseJSON(text string, l *line) error {
	var fields struct {
		Time                       json.RawMessage // RFC 3339, or seconds since 1970
		IP, Method, Path, User, ID string
		Status                     int
	}
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		return fmt.Errorf("must be a JSON object with time, ip, method, path, status, user and id: %w", err)
	}
	if fields.IP == "" {
		return errors.New("has no ip, the client's address")
	}
	at, err := jsonTime(string(fields.Time))
	if err != nil {
		return err
	}
	l.addr, l.user, l.id, l.status = fields.IP, fields.User, fields.ID, fields.Status
	return l.set(at, fields.Method, fields.Path)
}

func jsonTime(text string) (time.Time, error) {
	if stamp, ok := strings.CutPrefix(text, `"`); ok {
		at, err := time.Parse(time.RFC3339, strings.TrimSuffix(stamp, `"`))
		if err != nil {
			return at, errTime
		}
		return at, nil
	}
	whole, fraction, _ := strings.Cut(text, ".")
	s, err := strconv.ParseInt(whole, 10, 64)
	us, fractionErr := strconv.ParseUint((fraction + "000000")[:6], 10, 63)
	if err != nil || fractionErr != nil {
		return time.Time{}, errTime
	}
	return time.Unix(s, int64(us)*1000), nil
}

// Times that the engine can count in microseconds.
var firstTime, lastTime = time.Unix(0, 0), time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)

// set sets the time, the method and the target, of which it keeps the path of an absolute URL. It checks them, and the status.
func (l *line) set(at time.Time, method, target string) error {
	if at.Before(firstTime) || !at.Before(lastTime) {
		return errors.New("the time must be between 1970 and 2200")
	}
	if strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://") {
		_, target, _ = strings.Cut(target, "://")
		if i := strings.IndexAny(target, "/?"); i >= 0 && target[i] == '/' {
			target = target[i:]
		} else {
			target = "/"
		}
	}
	isMethod := func(c rune) bool { return 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || c == '-' || c == '_' } // unlike the bytes of TLS clients
	switch {
	case target == "" || method == "" || strings.TrimFunc(method, isMethod) != "":
		return errNoRequest
	case l.status < 0 || l.status > 999:
		return errStatus
	}
	l.at, l.method, l.path = at.Truncate(time.Microsecond), method, target
	return nil
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
