package accesslog_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/guard/replay/accesslog"
)

// FuzzCommon and FuzzJSON check that every line of any log is a valid Line or a Bad.
func FuzzCommon(f *testing.F) {
	f.Add(plain)
	f.Add(`a b 2001:db8::1 - \x2 [01/Mar/2026:12:00:00 +0000] "GET http://x?y \" HTTP/1.1" 200`)
	f.Fuzz(func(t *testing.T, text string) { checkLines(t, text, accesslog.Common) })
}

func FuzzJSON(f *testing.F) {
	f.Add(`{"ts":1772366400.25,"request":{"remote_ip":"192.0.2.1:1","method":"POST","uri":"/a"},"user_id":1,"status":201}`)
	f.Add(`{"time":"2026-03-01 12:00:00","ip":"[::1]:2","request":"GET / HTTP/1.1"}`)
	f.Fuzz(func(t *testing.T, text string) { checkLines(t, text, accesslog.JSON) })
}

func checkLines(t *testing.T, text string, format accesslog.Format) {
	if strings.HasPrefix(text, "\x1f\x8b") {
		return // gzip
	}
	r, err := accesslog.NewReader(strings.NewReader(text), accesslog.Options{Format: format})
	if err != nil {
		t.Fatal(err)
	}
	last := int64(0)
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range b.Lines {
			if l.Method == "" || l.Path == "" || l.Status < 0 || l.Status > 999 || l.Time.Year() < 1970 || l.Time.Year() > 2200 || l.Time.Nanosecond()%1000 != 0 {
				t.Errorf("line %d: %+v", l.Number, l)
			}
			if l.Number <= last || l.Number > int64(strings.Count(text, "\n")+1) {
				t.Errorf("line %d after line %d", l.Number, last)
			}
			last = l.Number
		}
		for _, bad := range b.Bad {
			if bad.Why == "" || bad.Number < 1 {
				t.Errorf("bad line %+v", bad)
			}
		}
	}
}
