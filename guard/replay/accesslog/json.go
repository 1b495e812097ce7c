package accesslog

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// The fields of a JSON line, as Options.Fields names them.
const (
	fieldTime   = "time"
	fieldIP     = "ip"
	fieldMethod = "method"
	fieldPath   = "path"
	fieldUser   = "user"
	fieldStatus = "status"
	fieldID     = "id"
	// fieldRequest holds method and path: `GET /path HTTP/1.1`.
	fieldRequest = "request"
)

// known holds the names that servers use for each field, the least ambiguous first.
var known = map[string][]string{
	fieldTime:    {"time_iso8601", "time_local", "StartUTC", "@timestamp", "ts", "timestamp", "msec", "datetime", "time"},
	fieldIP:      {"request.client_ip", "client_ip", "request.remote_ip", "remote_ip", "remote_addr", "ClientHost", "request.remote_addr", "ip", "addr", "client"},
	fieldMethod:  {"request_method", "request.method", "RequestMethod", "http_method", "method"},
	fieldPath:    {"request_uri", "request.uri", "RequestPath", "uri", "path", "url"},
	fieldRequest: {"request"},
	fieldUser:    {"remote_user", "user_id", "ClientUsername", "user"},
	fieldStatus:  {"status", "status_code", "DownstreamStatus", "code"},
	fieldID:      nil,
}

// ParseFields parses names for Options.Fields, such as `time=ts,ip=remote_ip`. A dot selects from an object or an array:
// request.headers.X-Api-Key.0.
func ParseFields(text string) (map[string]string, error) {
	if text == "" {
		return nil, nil
	}
	fields := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		field, name, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if _, is := known[field]; !is {
			return nil, fmt.Errorf("unknown field %q: must be one of %s", field, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		if !ok || name == "" {
			return nil, fmt.Errorf("field %s has no name: write %s=NAME", field, field)
		}
		fields[field] = name
	}
	return fields, nil
}

type jsonParser struct {
	time, ip, method, path, request, user, status, id names
}

// names holds the paths of a field. The last one found is tried first.
type names struct {
	paths []string
	last  int
}

func newJSONParser(fields map[string]string) *jsonParser {
	of := func(field string) names {
		var n names
		if name, ok := fields[field]; ok {
			n.paths = []string{gjsonPath(name), gjson.Escape(name)}
			return n
		}
		for _, name := range known[field] {
			n.paths = append(n.paths, gjsonPath(name))
		}
		return n
	}
	return &jsonParser{
		of(fieldTime), of(fieldIP), of(fieldMethod), of(fieldPath), of(fieldRequest), of(fieldUser), of(fieldStatus), of(fieldID),
	}
}

func gjsonPath(name string) string {
	parts := strings.Split(name, ".")
	for i := range parts {
		parts[i] = gjson.Escape(parts[i])
	}
	return strings.Join(parts, ".")
}

// in returns a field that is text or a number.
func (n *names) in(text string) gjson.Result {
	if n.last < len(n.paths) {
		if r := gjson.Get(text, n.paths[n.last]); r.Type == gjson.String || r.Type == gjson.Number {
			return r
		}
	}
	for i, path := range n.paths {
		if i == n.last {
			continue
		}
		if r := gjson.Get(text, path); r.Type == gjson.String || r.Type == gjson.Number {
			n.last = i
			return r
		}
	}
	return gjson.Result{}
}

func (p *jsonParser) parse(text string, l *Line) error {
	if !strings.HasPrefix(text, "{") || !gjson.Valid(text) {
		return errors.New("must be a JSON object")
	}
	t, err := jsonTime(p.time.in(text))
	if err != nil {
		return err
	}
	l.Time = t
	if l.Addr = withoutPort(p.ip.in(text).Str); l.Addr == "" {
		return errors.New("has no client address: name its field")
	}
	if err := p.setRequest(text, l); err != nil {
		return err
	}
	l.User = given(p.user.in(text).String())
	l.ID = given(p.id.in(text).String())
	if status := p.status.in(text); status.Exists() {
		n := status.Int()
		if n < 0 || n > 999 {
			return errStatus
		}
		l.Status = int(n)
	}
	return nil
}

func (p *jsonParser) setRequest(text string, l *Line) error {
	method, path := p.method.in(text).Str, p.path.in(text).Str
	if method != "" && path != "" {
		return l.setTarget(method, path)
	}
	return l.setRequest(p.request.in(text).Str)
}

// jsonTime reads RFC 3339, the time format of common logs, or seconds, milliseconds, microseconds or nanoseconds since 1970.
func jsonTime(r gjson.Result) (time.Time, error) {
	if !r.Exists() {
		return time.Time{}, errNoTime
	}
	if r.Type == gjson.Number {
		return unixTime(r.Raw)
	}
	if t, err := time.Parse(time.RFC3339, r.Str); err == nil {
		return checkTime(t)
	}
	for _, layout := range []string{commonTime, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05Z0700"} {
		if t, err := time.Parse(layout, r.Str); err == nil {
			return checkTime(t)
		}
	}
	return unixTime(r.Str)
}

// unixTime derives the unit from the size: seconds have ten digits until 2286.
func unixTime(text string) (time.Time, error) {
	if whole, frac, _ := strings.Cut(text, "."); len(whole) == 10 && len(frac) <= 9 {
		s, err := strconv.ParseUint(whole, 10, 63)
		ns, fracErr := strconv.ParseUint((frac + "000000000")[:9], 10, 63)
		if err == nil && fracErr == nil {
			return checkTime(time.Unix(int64(s), int64(ns)))
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || f < 0 || f >= math.MaxInt64 {
		return time.Time{}, errTime
	}
	switch {
	case f >= 1e17:
		return checkTime(time.Unix(0, int64(f)))
	case f >= 1e14:
		return checkTime(time.UnixMicro(int64(f)))
	case f >= 1e11:
		return checkTime(time.UnixMicro(int64(f * 1000)))
	}
	return checkTime(time.UnixMicro(int64(f * 1e6)))
}
