package identity

import (
	"net/http"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
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

func TestFold_joinsSpellings(t *testing.T) {
	long := strings.Repeat("A", maxFolded+1)
	for _, c := range []struct{ name, raw, nfc, email, fold string }{
		{"plain", "ada", "ada", "ada", "ada"},
		{"case of an address", "Ada@Example.COM", "Ada@Example.COM", "Ada@example.com", "ada@example.com"},
		{"several @", `"A@B"@C`, `"A@B"@C`, `"A@B"@c`, `"a@b"@c`},
		{"no domain", "Ada", "Ada", "Ada", "ada"},
		{"dots and tags", "A.da+News@gmail.com", "A.da%2BNews@gmail.com", "A.da%2BNews@gmail.com", "a.da%2Bnews@gmail.com"},
		{"an accent of its own", "Zoe\u0308", "Zo\u00eb", "Zo\u00eb", "zo\u00eb"},
		{"an accent in the letter", "ZO\u00cb", "ZO\u00cb", "ZO\u00cb", "zo\u00eb"},
		{"a pair that composes in lower case only", "J\u030c", "J\u030c", "J\u030c", "\u01f0"},
		{"the sign of Kelvin", "\u212a", "K", "K", "k"},
		{"long s", "\u017f", "\u017f", "\u017f", "s"},
		{"final sigma", "\u039f\u03a3, \u03bf\u03c2", "\u039f\u03a3, \u03bf\u03c2", "\u039f\u03a3, \u03bf\u03c2", "\u03bf\u03c3, \u03bf\u03c3"},
		{"Turkish letters", "I\u0130\u0131i", "I\u0130\u0131i", "I\u0130\u0131i", "i\u0130\u0131i"},
		{"a dotted I as two", "I\u0307", "\u0130", "\u0130", "\u0130"},
		{"sharp s", "\u1e9e\u00dfss", "\u1e9e\u00dfss", "\u1e9e\u00dfss", "\u00df\u00dfss"},
		{"a ligature", "\ufb01", "\ufb01", "\ufb01", "\ufb01"},
		{"another script", "\u0410", "\u0410", "\u0410", "\u0430"},
		{"invalid UTF-8", "A\xff", Value("A\xff"), Value("A\xff"), Value("A\xff")},
		{"a NUL", "A\x00", Value("A\x00"), Value("A\x00"), Value("a\x00")},
		{"a hash of a value", "~00", Value("~00"), Value("~00"), Value("~00")},
		{"longer than is folded", long, Value(long), Value(long), Value(long)},
		{"a value to hash", strings.Repeat("A", 300), Value(strings.Repeat("A", 300)), Value(strings.Repeat("A", 300)), Value(strings.Repeat("a", 300))},
		{"empty", "", "", "", ""},
	} {
		got := []string{FoldNone.Value(c.raw), FoldNFC.Value(c.raw), FoldEmail.Value(c.raw), FoldCase.Value(c.raw)}
		if diff := cmp.Diff([]string{Value(c.raw), c.nfc, c.email, c.fold}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// Letters are one subject if and only if Unicode's simple case folding says so.
func TestFold_caseIsSimpleFolding(t *testing.T) {
	joined := map[rune]rune{}
	for r := range rune(unicode.MaxRune) {
		l := lower(r)
		if lower(l) != l || l != lower(unicode.SimpleFold(r)) {
			t.Errorf("%U becomes %U", r, l)
		}
		if other, ok := joined[l]; ok && !strings.EqualFold(string(r), string(other)) {
			t.Errorf("%U and %U are both %U", r, other, l)
		}
		joined[l] = r
	}
}

func TestFold_readsEachSourceFolded(t *testing.T) {
	path := keyFile(t)
	fromFunc := func(r *http.Request) (string, error) { return r.Header.Get("X-Func"), nil }
	with := func(c one) one { c.name, c.Fold = "user", FoldCase; return c }
	for name, c := range map[string]struct {
		config one
		r      *http.Request
	}{
		"a header":          {with(one{Identity: Identity{Header: "X-User"}}), request("X-User", "Ada", "X-User", "ADA")},
		"a verified header": {with(one{Identity: Identity{Header: "X-User"}, verify: accepting{}}), request("X-User", "good-Ada", "X-User", "Eve")},
		"a cookie":          {with(one{Identity: Identity{Cookie: "user"}}), request("Cookie", "user=%41da")},
		"a query":           {with(one{Identity: Identity{Query: "user"}}), withQuery("user=Ada")},
		"a path":            {with(one{Identity: Identity{Path: "user"}}), request()},
		"a claim":           {with(one{Identity: Identity{JWT: &JWT{Keys: path}}}), bearer(t, valid(object{"sub": "Ada"}))},
		"a func":            {with(one{read: fromFunc}), request("X-Func", "Ada")},
	} {
		got, err := mustNew(t, Options{}, c.config).Read(c.r, func(string) string { return "Ada" })
		if diff := cmp.Diff(Found{Subjects: []string{"user=ada"}}, got, withoutAddr); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// FuzzFold checks that folding is stable, safe and bounded, and that it does not depend on the case or the form of a value.
func FuzzFold(f *testing.F) {
	for _, raw := range []string{
		"Ada@Example.com", "ZOE\u0308", "I\u0130\u0131\u0307", "\u1e9e\u00df", "\u03a3\u03c2\u0345\u1fbe", "a\x00\xff", "~", "%2B+", "\u2126\u212a\u212b",
		"e" + strings.Repeat("\u0301", 60), strings.Repeat("\u0344", 400), strings.Repeat("\ufb2c", 300), "@", "A@B@C",
	} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		for _, fold := range []Fold{FoldNone, FoldNFC, FoldEmail, FoldCase} {
			folded := fold.fold(raw)
			if len(raw) <= maxFolded/8 && fold.fold(folded) != folded {
				t.Errorf("%s: %+q became %+q and then %+q", fold, raw, folded, fold.fold(folded))
			}
			if len(folded) > max(len(raw), 4*maxFolded) || utf8.ValidString(raw) != utf8.ValidString(folded) {
				t.Errorf("%s: %+q became %+q", fold, raw, folded)
			}
			value := fold.Value(raw)
			if raw != "" && !IsValue(value) || value != fold.Canonical(value) && len(raw) <= maxFolded/8 {
				t.Errorf("%s: %+q became %+q and then %+q", fold, raw, value, fold.Canonical(value))
			}
		}
	})
}

func bearer(t testing.TB, payload any) *http.Request {
	t.Helper()
	return request("Authorization", "Bearer "+sign(t, rsaKey, "r1", payload))
}
