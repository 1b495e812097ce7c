package replay

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/guard/replay/accesslog"
)

// hostile is a log with markup and terminal escape codes.
const hostile = `{"time":"2026-03-01T06:00:00Z","ip":"192.0.2.1","method":"GET","path":"/v1/items?</title><script>alert(1)</script>","user":"</td><script>alert(1)</script>"}
{"time":"2026-03-01T06:00:01Z","ip":"192.0.2.1","method":"GET","path":"/v1/items","user":"</td><script>alert(1)</script>"}
{"time":"2026-03-01T06:00:02Z","ip":"192.0.2.1","method":"GET","path":"/v1/items","user":"\u001b[31mred\" onload=\"alert(1)"}
{"time":"2026-03-01T06:00:03Z","ip":"192.0.2.1","method":"GET","path":"/v1/items","user":"\u001b[31mred\" onload=\"alert(1)"}
{"time":"2026-03-01T06:00:04Z","ip":"<img src=x onerror=alert(1)>","method":"GET","path":"/v1/items"}
`

func hostileReport(t *testing.T) *Report {
	p := mustPolicy(t, `
identities: {key: {header: X-API-Key, verify: {func: true}}, client: {first: [key, ip]}}
limits: [{name: minute, limit: 1, window: 1m}]
abuse: {tiers: [{threshold: 2, window: 1m, block: 1m}]}
endpoints: [{name: items, match: ["GET /v1/items"], abuse: all}]`)
	r := replay(t, hostile, p, Options{Subject: ByUser})
	if r.Refused != 2 || r.Blocks != 2 || r.Unreadable != 1 {
		t.Fatalf("refused %d, blocks %d, unreadable %d", r.Refused, r.Blocks, r.Unreadable)
	}
	r.Log = `<b>"access".log`
	return r
}

func TestWriteHTML_escapesTextOfTheLog(t *testing.T) {
	var b bytes.Buffer
	if err := hostileReport(t).WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	allowed := "html head meta title style body main h1 h2 p div b span section i svg line text g rect circle table tr td th details summary ul li br "
	d := xml.NewDecoder(&b)
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	seen := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		element, ok := token.(xml.StartElement)
		if !ok {
			if text, ok := token.(xml.CharData); ok && strings.ContainsAny(string(text), "\x1b") {
				t.Errorf("escape code in %q", text)
			}
			continue
		}
		seen++
		if !strings.Contains(allowed, element.Name.Local+" ") {
			t.Errorf("element %s", element.Name.Local)
		}
		for _, a := range element.Attr {
			if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "src" || a.Name.Local == "href" {
				t.Errorf("attribute %s of %s", a.Name.Local, element.Name.Local)
			}
		}
	}
	if seen < 50 {
		t.Errorf("only %d elements: the page was not read to its end", seen)
	}
}

func TestWriteText_quotesUnprintableText(t *testing.T) {
	var b bytes.Buffer
	if err := hostileReport(t).WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "\x1b") || !strings.Contains(b.String(), `"key=`) && !strings.Contains(b.String(), `key=`) {
		t.Errorf("got %q", b.String())
	}
}

func TestRun_errors(t *testing.T) {
	p := mustPolicy(t, `endpoints: [{name: items, match: ["GET /v1/items"], unbounded: true}]`)
	for log, want := range map[string]error{"": ErrEmpty, "\n\n": ErrEmpty, "garbage\n": ErrNothing} {
		reader, err := accesslog.NewReader(strings.NewReader(log), accesslog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = Run(t.Context(), reader, p, Options{}); !errors.Is(err, want) {
			t.Errorf("%q: got %v", log, err)
		}
	}
}
