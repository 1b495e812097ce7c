package replay

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func readAll(t testing.TB, in io.Reader) (lines []line, bad []string) {
	t.Helper()
	r, err := newLogReader(in)
	for err == nil {
		var b *block
		if b, err = r.next(); err == nil {
			lines = append(lines, b.lines...)
			for _, one := range b.bad {
				bad = append(bad, one.String())
			}
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return lines, bad
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestLog_commonAndCombined(t *testing.T) {
	for _, step := range []struct {
		name, text string
		want       line
		bad        string
	}{
		{
			name: "common", text: `192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET /a?b=c HTTP/1.1" 200 12`,
			want: line{addr: "192.0.2.1", method: "GET", path: "/a?b=c", status: 200},
		},
		{
			name: "combined", text: `2001:db8::1 - - [01/Mar/2026:12:00:00 +0000] "POST /a HTTP/2.0" 429 0 "-" "agent [1] \"x\""`,
			want: line{addr: "2001:db8::1", method: "POST", path: "/a", status: 429},
		},
		{
			name: "a zone", text: `192.0.2.1 - - [01/Mar/2026:13:30:00 +0130] "GET / HTTP/1.1" 200 12`,
			want: line{addr: "192.0.2.1", method: "GET", path: "/", status: 200},
		},
		{
			name: "a user with blanks and escapes", text: `192.0.2.1 - some\x20one else [01/Mar/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 12`,
			want: line{addr: "192.0.2.1", method: "GET", path: "/", status: 200, user: "some one else"},
		},
		{
			name: "escapes in the path", text: `192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET /\"x\x22\\ y HTTP/1.1" 200 12`,
			want: line{addr: "192.0.2.1", method: "GET", path: `/"x"\ y`, status: 200},
		},
		{
			name: "no protocol, no status", text: `192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET /" - -`,
			want: line{addr: "192.0.2.1", method: "GET", path: "/"},
		},
		{
			name: "an absolute URL", text: `192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET http://example.org/a?b HTTP/1.1" 200 12`,
			want: line{addr: "192.0.2.1", method: "GET", path: "/a?b", status: 200},
		},
		{name: "no request", text: `192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "-" 408 0`, bad: "line 1: has no request, METHOD PATH"},
		{name: "TLS on a plain port", text: `192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "\x16\x03\x01 \xfc" 400 0`, bad: "line 1: has no request, METHOD PATH"},
		{name: "a time", text: `192.0.2.1 - - [31/Feb/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 0`, bad: "line 1: has no valid time"},
		{name: "a far time", text: `192.0.2.1 - - [01/Mar/1066:12:00:00 +0000] "GET / HTTP/1.1" 200 0`, bad: "line 1: the time must be between 1970 and 2200"},
		{name: "a status", text: `192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET / HTTP/1.1" ok 0`, bad: "line 1: the status must be 0 to 999"},
		{name: "cut off", text: `192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET / HT`, bad: `line 1: must be a common or combined log line, ADDRESS - USER [TIME] "REQUEST" STATUS, or a JSON object`},
		{name: "something else", text: `hello`, bad: `line 1: must be a common or combined log line, ADDRESS - USER [TIME] "REQUEST" STATUS, or a JSON object`},
	} {
		t.Run(step.name, func(t *testing.T) { check(t, step.text, step.want, step.bad) })
	}
}

// check reads one line. Defaults of want are line 1 and noon.
func check(t *testing.T, text string, want line, bad string) {
	t.Helper()
	lines, unread := readAll(t, strings.NewReader(text))
	if bad != "" {
		if diff := cmp.Diff([]string{bad}, unread); diff != "" || len(lines) > 0 {
			t.Errorf("bad lines (-want +got):\n%s%v", diff, lines)
		}
		return
	}
	want.number = 1
	if want.at.IsZero() {
		want.at = noon
	}
	for i := range lines {
		lines[i].at = lines[i].at.UTC()
	}
	if diff := cmp.Diff([]line{want}, lines, cmp.AllowUnexported(line{})); diff != "" {
		t.Errorf("lines (-want +got):\n%s%v", diff, unread)
	}
}

func TestLog_json(t *testing.T) {
	const object = "line 1: must be a JSON object with time, ip, method, path, status, user and id: "
	for _, step := range []struct {
		name, text string
		want       line
		bad        string
	}{
		{
			name: "all fields", text: `{"time":"2026-03-01T13:00:00.000001+01:00","ip":"2001:db8::1","method":"GET","path":"https://example.org/a","status":200,"user":"ada","id":"r1","more":[1]}`,
			want: line{at: noon.Add(time.Microsecond), addr: "2001:db8::1", method: "GET", path: "/a", status: 200, user: "ada", id: "r1"},
		},
		{
			name: "seconds", text: `{"time":1772366400.25,"ip":"192.0.2.1","method":"POST","path":"/a?b"}`,
			want: line{at: noon.Add(250 * time.Millisecond), addr: "192.0.2.1", method: "POST", path: "/a?b"},
		},
		{
			name: "whole seconds, in capitals", text: `{"Time":1772366400,"IP":"192.0.2.1","Method":"GET","Path":"/"}`,
			want: line{addr: "192.0.2.1", method: "GET", path: "/"},
		},
		{name: "no object", text: `{"time":`, bad: object + "unexpected end of JSON input"},
		{name: "a field of another type", text: `{"time":1,"ip":7}`, bad: object + "json: cannot unmarshal number into Go struct field .IP of type string"},
		{name: "no time", text: `{"ip":"192.0.2.1"}`, bad: "line 1: has no valid time"},
		{name: "no address", text: `{"time":"2026-03-01T12:00:00Z"}`, bad: "line 1: has no ip, the client's address"},
		{name: "no request", text: `{"time":"2026-03-01T12:00:00Z","ip":"192.0.2.1"}`, bad: "line 1: has no request, METHOD PATH"},
		{name: "no method", text: `{"time":"2026-03-01T12:00:00Z","ip":"192.0.2.1","path":"/"}`, bad: "line 1: has no request, METHOD PATH"},
		{name: "a status", text: `{"time":1772366400,"ip":"192.0.2.1","method":"GET","path":"/","status":1000}`, bad: "line 1: the status must be 0 to 999"},
		{name: "a time", text: `{"time":"yesterday","ip":"192.0.2.1"}`, bad: "line 1: has no valid time"},
		{name: "a negative time", text: `{"time":-1,"ip":"192.0.2.1"}`, bad: "line 1: the time must be between 1970 and 2200"},
		{name: "milliseconds", text: `{"time":1772366400000,"ip":"192.0.2.1"}`, bad: "line 1: the time must be between 1970 and 2200"},
		{name: "an endless time", text: `{"time":1e400,"ip":"192.0.2.1"}`, bad: "line 1: has no valid time"},
	} {
		t.Run(step.name, func(t *testing.T) { check(t, step.text, step.want, step.bad) })
	}
}

const plain = `192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 12`

func TestLog_gzipBlankLinesAndNumbers(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	io.WriteString(w, "\ufeff")
	io.WriteString(w, plain+"\r\n\n"+strings.Repeat("x", 3<<20)+"\nbroken\n"+plain)
	w.Close()
	lines, bad := readAll(t, &packed)
	if len(lines) != 2 || lines[0].number != 1 || lines[1].number != 5 {
		t.Errorf("lines: %v", lines)
	}
	want := []string{"line 3: is longer than 1 MiB", `line 4: must be a common or combined log line, ADDRESS - USER [TIME] "REQUEST" STATUS, or a JSON object`}
	if diff := cmp.Diff(want, bad); diff != "" {
		t.Errorf("bad lines (-want +got):\n%s", diff)
	}
}

func TestLog_linesOverManyBlocks(t *testing.T) {
	const many = 20_000
	lines, bad := readAll(t, strings.NewReader(strings.Repeat(plain+"\n", many)))
	if len(lines) != many || len(bad) != 0 || lines[many-1].number != many || lines[many-1].path != "/" {
		t.Errorf("%d lines, bad: %v", len(lines), bad)
	}
}

func TestLog_truncatedGzipIsAnError(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	io.WriteString(w, strings.Repeat(plain+"\n", 100))
	w.Close()
	r, err := newLogReader(bytes.NewReader(packed.Bytes()[:packed.Len()-10]))
	for err == nil {
		_, err = r.next()
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
}

// FuzzLog checks that every line of any log is a request or a Bad.
func FuzzLog(f *testing.F) {
	f.Add(plain)
	f.Add(`a b 2001:db8::1 - \x2 [01/Mar/2026:12:00:00 +0000] "GET http://x?y \" HTTP/1.1" 200`)
	f.Add("   [] \"A 0\"0")
	f.Add(`{"time":1772366400.25,"ip":"192.0.2.1:1","method":"POST","path":"/a","user":"u","status":201}`)
	f.Fuzz(func(t *testing.T, text string) {
		if strings.HasPrefix(text, "\x1f\x8b") {
			return // gzip
		}
		last := int64(0)
		lines, bad := readAll(t, strings.NewReader(text))
		for _, l := range lines {
			if l.method == "" || l.path == "" || l.status < 0 || l.status > 999 || l.at.UTC().Year() < 1970 || l.at.UTC().Year() > 2200 || l.at.Nanosecond()%1000 != 0 {
				t.Errorf("line %d: %+v", l.number, l)
			}
			if l.number <= last || l.number > int64(strings.Count(text, "\n")+1) {
				t.Errorf("line %d after line %d", l.number, last)
			}
			last = l.number
		}
		for _, one := range bad {
			if strings.HasSuffix(one, ": ") || strings.HasPrefix(one, "line 0") {
				t.Errorf("bad line %q", one)
			}
		}
	})
}
