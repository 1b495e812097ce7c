package accesslog_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/guard/replay/accesslog"
)

func readAll(t testing.TB, in io.Reader, o accesslog.Options) (accesslog.Format, []accesslog.Line, []string) {
	t.Helper()
	r, err := accesslog.NewReader(in, o)
	if err != nil {
		t.Fatal(err)
	}
	var lines []accesslog.Line
	var bad []string
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			return r.Format(), lines, bad
		}
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, b.Lines...)
		for _, line := range b.Bad {
			bad = append(bad, line.String())
		}
	}
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestReader_commonAndCombined(t *testing.T) {
	for _, step := range []struct {
		name, text string
		want       accesslog.Line
		bad        string
	}{
		{
			name: "common", text: `192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET /a?b=c HTTP/1.1" 200 12`,
			want: accesslog.Line{Addr: "192.0.2.1", Method: "GET", Path: "/a?b=c", Status: 200},
		},
		{
			name: "combined", text: `2001:db8::1 - - [01/Mar/2026:12:00:00 +0000] "POST /a HTTP/2.0" 429 0 "-" "agent [1] \"x\""`,
			want: accesslog.Line{Addr: "2001:db8::1", Method: "POST", Path: "/a", Status: 429},
		},
		{
			name: "a zone", text: `192.0.2.1 - - [01/Mar/2026:13:30:00 +0130] "GET / HTTP/1.1" 200 12`,
			want: accesslog.Line{Addr: "192.0.2.1", Method: "GET", Path: "/", Status: 200},
		},
		{
			name: "behind a virtual host", text: `example.org:443 192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 12`,
			want: accesslog.Line{Addr: "192.0.2.1", Method: "GET", Path: "/", Status: 200},
		},
		{
			name: "a user with blanks and escapes", text: `192.0.2.1 - some\x20one else [01/Mar/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 12`,
			want: accesslog.Line{Addr: "192.0.2.1", Method: "GET", Path: "/", Status: 200, User: "some one else"},
		},
		{
			name: "escapes in the path", text: `192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET /\"x\x22\\ y HTTP/1.1" 200 12`,
			want: accesslog.Line{Addr: "192.0.2.1", Method: "GET", Path: `/"x"\ y`, Status: 200},
		},
		{
			name: "no protocol, no status", text: `192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET /" - -`,
			want: accesslog.Line{Addr: "192.0.2.1", Method: "GET", Path: "/"},
		},
		{
			name: "an absolute URL", text: `192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET http://example.org/a?b HTTP/1.1" 200 12`,
			want: accesslog.Line{Addr: "192.0.2.1", Method: "GET", Path: "/a?b", Status: 200},
		},
		{name: "no request", text: `192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "-" 408 0`, bad: "line 1: has no request, METHOD PATH"},
		{name: "TLS on a plain port", text: `192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "\x16\x03\x01 \xfc" 400 0`, bad: "line 1: has no request, METHOD PATH"},
		{name: "a time", text: `192.0.2.1 - - [31/Feb/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 0`, bad: "line 1: has no valid time"},
		{name: "a far time", text: `192.0.2.1 - - [01/Mar/1066:12:00:00 +0000] "GET / HTTP/1.1" 200 0`, bad: "line 1: the time must be between 1970 and 2200"},
		{name: "a status", text: `192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET / HTTP/1.1" ok 0`, bad: "line 1: the status must be 0 to 999"},
		{name: "cut off", text: `192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET / HT`, bad: `line 1: must be a common or combined log line: ADDRESS - USER [TIME] "REQUEST" STATUS`},
		{name: "something else", text: `hello`, bad: `line 1: must be a common or combined log line: ADDRESS - USER [TIME] "REQUEST" STATUS`},
	} {
		t.Run(step.name, func(t *testing.T) { check(t, step.text, accesslog.Common, accesslog.Options{}, step.want, step.bad) })
	}
}

// check reads one line. Defaults of want are line 1 and noon.
func check(t *testing.T, text string, format accesslog.Format, o accesslog.Options, want accesslog.Line, bad string) {
	t.Helper()
	got, lines, unread := readAll(t, strings.NewReader(text), o)
	if got != format {
		t.Errorf("read as %s", got)
	}
	if bad != "" {
		if diff := cmp.Diff([]string{bad}, unread); diff != "" || len(lines) > 0 {
			t.Errorf("bad lines (-want +got):\n%s%v", diff, lines)
		}
		return
	}
	want.Number = 1
	if want.Time.IsZero() {
		want.Time = noon
	}
	if diff := cmp.Diff([]accesslog.Line{want}, lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s%v", diff, unread)
	}
}

func TestReader_json(t *testing.T) {
	for _, step := range []struct {
		name, text, fields string
		want               accesslog.Line
		bad                string
	}{
		{
			name: "nginx", text: `{"time_iso8601":"2026-03-01T13:00:00+01:00","remote_addr":"192.0.2.1","request":"GET /a HTTP/1.1","status":"200","remote_user":"-","request_time":"0.003"}`,
			want: accesslog.Line{Addr: "192.0.2.1", Method: "GET", Path: "/a", Status: 200},
		},
		{
			name: "Caddy", text: `{"level":"info","ts":1772366400.25,"msg":"handled request","request":{"remote_ip":"192.0.2.1","remote_port":"1","client_ip":"198.51.100.7","method":"POST","host":"example.org","uri":"/a?b","headers":{"X-Api-Key":["k1"]}},"user_id":"someone","status":201}`,
			want: accesslog.Line{Time: noon.Add(250 * time.Millisecond), Addr: "198.51.100.7", Method: "POST", Path: "/a?b", User: "someone", Status: 201},
		},
		{
			name: "zerolog", text: `{"level":"info","remote_ip":"[2001:db8::1]:443","method":"GET","url":"https://example.org/a","status":200,"time":"2026-03-01T12:00:00Z"}`,
			want: accesslog.Line{Addr: "2001:db8::1", Method: "GET", Path: "/a", Status: 200},
		},
		{
			name: "Traefik", text: `{"ClientHost":"192.0.2.1","RequestMethod":"GET","RequestPath":"/a","DownstreamStatus":200,"StartUTC":"2026-03-01T12:00:00.000001Z","time":"2026-03-01T12:00:09Z"}`,
			want: accesslog.Line{Time: noon.Add(time.Microsecond), Addr: "192.0.2.1", Method: "GET", Path: "/a", Status: 200},
		},
		{
			name: "milliseconds", text: `{"timestamp":1772366400123,"ip":"192.0.2.1","method":"GET","path":"/a"}`,
			want: accesslog.Line{Time: noon.Add(123 * time.Millisecond), Addr: "192.0.2.1", Method: "GET", Path: "/a"},
		},
		{
			name: "microseconds in text", text: `{"ts":"1772366400000123","ip":"192.0.2.1","method":"GET","path":"/a"}`,
			want: accesslog.Line{Time: noon.Add(123 * time.Microsecond), Addr: "192.0.2.1", Method: "GET", Path: "/a"},
		},
		{
			name: "seconds in text", text: `{"msec":"1772366400.004","ip":"192.0.2.1","method":"GET","path":"/a"}`,
			want: accesslog.Line{Time: noon.Add(4 * time.Millisecond), Addr: "192.0.2.1", Method: "GET", Path: "/a"},
		},
		{
			name: "fields by name", fields: "time=at.utc,ip=peer,user=request.headers.X-Api-Key.0,id=trace.id",
			text: `{"at":{"utc":"2026-03-01T12:00:00"},"peer":"192.0.2.1:9","request":{"headers":{"X-Api-Key":["k1"]},"method":"GET","uri":"/"},"trace.id":"r1"}`,
			want: accesslog.Line{Addr: "192.0.2.1", Method: "GET", Path: "/", User: "k1", ID: "r1"},
		},
		{name: "no object", text: `{"time":`, bad: "line 1: must be a JSON object"},
		{name: "no time", text: `{"ip":"192.0.2.1"}`, bad: "line 1: has no time"},
		{name: "no address", text: `{"time":"2026-03-01T12:00:00Z"}`, bad: "line 1: has no client address: name its field"},
		{name: "no request", text: `{"time":"2026-03-01T12:00:00Z","ip":"192.0.2.1"}`, bad: "line 1: has no request, METHOD PATH"},
		{name: "a time", text: `{"time":"yesterday","ip":"192.0.2.1"}`, bad: "line 1: has no valid time"},
		{name: "a negative time", text: `{"time":-1,"ip":"192.0.2.1"}`, bad: "line 1: has no valid time"},
		{name: "an endless time", text: `{"time":1e400,"ip":"192.0.2.1"}`, bad: "line 1: has no valid time"},
	} {
		t.Run(step.name, func(t *testing.T) {
			fields, err := accesslog.ParseFields(step.fields)
			if err != nil {
				t.Fatal(err)
			}
			check(t, step.text, accesslog.JSON, accesslog.Options{Fields: fields}, step.want, step.bad)
		})
	}
}

const plain = `192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 12`

func TestReader_gzipBlankLinesAndNumbers(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	io.WriteString(w, "\ufeff")
	io.WriteString(w, plain+"\r\n\n"+strings.Repeat("x", 3<<20)+"\nbroken\n"+plain)
	w.Close()
	_, lines, bad := readAll(t, &packed, accesslog.Options{})
	if len(lines) != 2 || lines[0].Number != 1 || lines[1].Number != 5 {
		t.Errorf("lines: %v", lines)
	}
	want := []string{"line 3: is longer than 1 MiB", `line 4: must be a common or combined log line: ADDRESS - USER [TIME] "REQUEST" STATUS`}
	if diff := cmp.Diff(want, bad); diff != "" {
		t.Errorf("bad lines (-want +got):\n%s", diff)
	}
}

func TestReader_linesOverManyBlocks(t *testing.T) {
	const many = 20_000
	_, lines, bad := readAll(t, strings.NewReader(strings.Repeat(plain+"\n", many)), accesslog.Options{})
	if len(lines) != many || len(bad) != 0 || lines[many-1].Number != many || lines[many-1].Path != "/" {
		t.Errorf("%d lines, bad: %v", len(lines), bad)
	}
}

func TestReader_truncatedGzipIsAnError(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	io.WriteString(w, strings.Repeat(plain+"\n", 100))
	w.Close()
	r, err := accesslog.NewReader(bytes.NewReader(packed.Bytes()[:packed.Len()-10]), accesslog.Options{})
	for err == nil {
		_, err = r.Next()
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
}

func TestParseFields_errors(t *testing.T) {
	for text, want := range map[string]string{
		"tiem=ts": `unknown field "tiem": must be one of id, ip, method, path, request, status, time, user`,
		"time":    `field time has no name: write time=NAME`,
		"time=":   `field time has no name: write time=NAME`,
	} {
		if _, err := accesslog.ParseFields(text); err == nil || err.Error() != want {
			t.Errorf("%s: got %v", text, err)
		}
	}
}
