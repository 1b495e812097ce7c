package identity

import (
	"net/http"
	"strings"
	"testing"
)

func TestValue(t *testing.T) {
	for _, c := range []struct{ name, raw, want string }{
		{"nothing", "", ""},
		{"plain", "ann@example.com", "ann@example.com"},
		{"letters of any script", "Ζωή-日本", "Ζωή-日本"},
		{"an accent of its own", "e\u0301", "e\u0301"},
		{"a space", "a b", "a b"},
		{"a plus", "a+path=b", "a%2Bpath=b"},
		{"a percent sign", "100%", "100%25"},
		{"an escape, as the client wrote it", "a%2Bb", "a%252Bb"},
		{"a comma", "a,b", "a,b"},
		{"braces, which fcall keeps out of keys", "a{b}", "a{b}"},
		{"256 bytes", strings.Repeat("a", 256), strings.Repeat("a", 256)},
	} {
		if got := Value(c.raw); got != c.want || !IsValue(got) && got != "" {
			t.Errorf("%s: got %q", c.name, got)
		}
	}
}

func TestValue_hashesWhatDoesNotShow(t *testing.T) {
	for name, raw := range map[string]string{
		"257 bytes":                      strings.Repeat("a", 257),
		"1 MiB":                          strings.Repeat("a", 1<<20),
		"256 bytes that become 258":      strings.Repeat("a", 255) + "+",
		"a value like a hash":            "~18745f36a05e29072709042d6062ce54",
		"NUL":                            "a\x00",
		"CR LF":                          "a\r\nX-Evil: 1",
		"a tab":                          "a\tb",
		"an escape sequence":             "\x1b[31m",
		"DEL":                            "a\x7f",
		"C1":                             "a\u009b31m",
		"C1 as a byte":                   "a\x9b31m",
		"invalid UTF-8":                  "\xff",
		"an overlong form":               "\xc0\x80",
		"half of a surrogate pair":       "\xed\xa0\x80",
		"right-to-left override":         "a\u202eb",
		"left-to-right isolate":          "a\u2066b",
		"Arabic letter mark":             "a\u061cb",
		"zero width space":               "a\u200bb",
		"zero width joiner":              "a\u200db",
		"word joiner":                    "a\u2060b",
		"byte order mark":                "\ufeffa",
		"soft hyphen":                    "a\u00adb",
		"interlinear annotation":         "a\ufff9b",
		"tag characters":                 "a\U000e0041",
		"line separator":                 "a\u2028b",
		"paragraph separator":            "a\u2029b",
		"no-break space":                 "a\u00a0b",
		"ideographic space":              "a\u3000b",
		"Hangul filler":                  "a\u3164b",
		"Hangul choseong filler":         "a\u115fb",
		"halfwidth Hangul filler":        "a\uffa0b",
		"combining grapheme joiner":      "a\u034fb",
		"variation selector":             "a\ufe0f",
		"variation selector supplement":  "a\U000e0100",
		"Mongolian variation selector":   "a\u180b",
		"Khmer inherent vowel":           "a\u17b4",
		"braille blank":                  "a\u2800",
		"null notehead":                  "a\U0001d159",
		"private use":                    "a\ue000",
		"unassigned":                     "a\u0378",
		"a mark that joins the = before": "\u0338a",
	} {
		got := Value(raw)
		if len(got) != 33 || got[0] != hashMark || !IsValue(got) || IsValue(raw) && raw[0] != hashMark {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

func TestValue_neverMeets(t *testing.T) {
	long := strings.Repeat("a", maxValue)
	seen := map[string]string{}
	for _, raw := range []string{long, long + "a", long + "b", "a\x00", "a\x00\x00", "a\n", "a", "a+b", "a%2Bb", "a%252Bb", "%", "%25", strings.Repeat("+", 86), strings.Repeat("+", 87)} {
		for _, raw := range []string{raw, Value(raw)} { // a value that Value returned, sent as it is, is another one
			got := Value(raw)
			if other, ok := seen[got]; ok && other != raw {
				t.Errorf("%.20q and %.20q are both %s", other, raw, got)
			}
			seen[got] = raw
		}
	}
}

func TestIsValue_refusesWhatValueNeverReturns(t *testing.T) {
	for _, text := range []string{"", "a+b", "100%", "%2b", "~", "~short", "~18745F36A05E29072709042D6062CE54", "a\n", strings.Repeat("a", 257)} {
		if IsValue(text) {
			t.Errorf("%.40q", text)
		}
	}
}

func bearer(t testing.TB, payload any) *http.Request {
	t.Helper()
	return request("Authorization", "Bearer "+sign(t, rsaKey, "r1", payload))
}
