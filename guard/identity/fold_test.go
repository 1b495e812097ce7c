package identity

import (
	"net/http"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

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
	with := func(c Config) Config { c.Name, c.Fold = "user", FoldCase; return c }
	for name, c := range map[string]struct {
		config Config
		r      *http.Request
		also   []string
	}{
		"a header":          {with(Config{Header: "X-User"}), request("X-User", "Ada", "X-User", "ADA"), nil},
		"two names":         {with(Config{Header: "X-User"}), request("X-User", "Ada", "X-User", "BOB"), []string{"user=bob"}},
		"a verified header": {with(Config{Header: "X-User", Verify: accepting{}}), request("X-User", "good-Ada", "X-User", "Eve"), []string{"user=eve"}},
		"a cookie":          {with(Config{Cookie: "user"}), request("Cookie", "user=%41da"), []string{"user=%2541da"}},
		"a query":           {with(Config{Query: "user"}), withQuery("user=Ada"), nil},
		"a path":            {with(Config{Path: "user"}), request(), nil},
		"a claim":           {with(Config{JWT: &JWT{Keys: path}}), bearer(t, valid(object{"sub": "Ada"})), nil},
		"a func":            {with(Config{Func: fromFunc}), request("X-Func", "Ada"), nil},
	} {
		got, err := mustNew(t, Options{}, c.config).Read(c.r, func(string) string { return "Ada" })
		if diff := cmp.Diff(Found{Subjects: []string{"user=ada"}, Also: c.also}, got, withoutAddr); diff != "" || err != nil {
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
