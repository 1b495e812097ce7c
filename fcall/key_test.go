package fcall_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/fcall"
	hash "github.com/rlfunc/rlfunc/internal/servers"
)

func TestTag(t *testing.T) {
	long := strings.Repeat("a", 64)
	steps := []struct{ name, subject, want string }{
		{"a number", "42", "42"},
		{"an address", "10.0.0.1", "10.0.0.1"},
		{"every plain mark", "a-b_c.d@e+f/g=", "a-b_c.d@e+f/g="},
		{"64 bytes", long, long},
		{"65 bytes", long + "a", "~635361c48bb9eab14198e76ea8ab7f1a"},
		{"IPv6", "2001:db8::1", "~5afd19e856d1c18d17d600dfd2b5f534"},
		{"empty", "", "~e3b0c44298fc1c149afbf4c8996fb924"},
		{"a brace", "{", "~021fb596db81e6d02bf3d2586ee3981f"},
		{"a folded one given as a subject", "~e3b0c44298fc1c149afbf4c8996fb924", "~13d125dc1911074d90657af975fa4a2b"},
	}
	for _, s := range steps {
		t.Run(s.name, func(t *testing.T) {
			if diff := cmp.Diff(s.want, fcall.Tag(fcall.Subject(s.subject))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	for _, s := range []string{"a b", "a\r\nb", "a\x00b", "\xff", "ä", "}{", "*", "a:b", "a,b", "a~b", strings.Repeat("x", 1<<20)} {
		tag := fcall.Tag(fcall.Subject(s))
		if len(tag) != 33 || tag[0] != '~' {
			t.Errorf("Tag(%.20q) = %q, want it folded", s, tag)
		}
	}
}

func TestKey(t *testing.T) {
	steps := []struct{ got, want string }{
		{fcall.Key("ratelimit", "u1", "log"), "ratelimit:{u1}:log"},
		{fcall.Key("ratelimit", "", "log"), "ratelimit:{~e3b0c44298fc1c149afbf4c8996fb924}:log"},
		{fcall.KeyOf("ratelimit", fcall.Tag("u1"), "limit", "minute"), "ratelimit:{u1}:limit:minute"},
		{fcall.KeyOf("ratelimit", fcall.Tag("u1"), "limit", "{"), "ratelimit:{u1}:limit:~021fb596db81e6d02bf3d2586ee3981f"},
	}
	for _, s := range steps {
		if diff := cmp.Diff(s.want, s.got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

func TestCheckNamespace(t *testing.T) {
	for _, ok := range []string{"ratelimit", "a", "A-1_b.c", strings.Repeat("n", 64)} {
		if err := fcall.CheckNamespace(ok); err != nil {
			t.Errorf("CheckNamespace(%q): %v", ok, err)
		}
	}
	for _, bad := range []string{"", "a:b", "a{b", "a b", "ä", "a\n", strings.Repeat("n", 65)} {
		if err := fcall.CheckNamespace(bad); err == nil || strings.ContainsAny(err.Error(), "\r\n") {
			t.Errorf("CheckNamespace(%q) = %v, want an error of one line", bad, err)
		}
	}
}

func TestSuffix(t *testing.T) {
	for want, got := range map[string]string{
		"gcra:60000000": fcall.Suffix("gcra", time.Minute),
		"gcra:1":        fcall.Suffix("gcra", time.Nanosecond),
		"gcra":          fcall.Suffix("gcra", time.Duration(0)),
		"log:a:~333edf7c3ca371622cc3029bd182261a": fcall.Suffix(fcall.Suffix("log", "a"), "b:c"),
		"log": fcall.Suffix("log", ""),
	} {
		if got != want {
			t.Errorf("Suffix = %q, want %q", got, want)
		}
	}
}

func FuzzTag(f *testing.F) {
	f.Add("a", "b")
	f.Add("", "~e3b0c44298fc1c149afbf4c8996fb924")
	f.Add("2001:db8::1", "2001:db8::2")
	f.Add("{a}", "a")
	f.Add("a\x00", "a")
	f.Add("\xff", "\xfe")
	f.Fuzz(func(t *testing.T, a, b string) {
		one, two := fcall.Tag(fcall.Subject(a)), fcall.Tag(fcall.Subject(b))
		if (a == b) != (one == two) {
			t.Errorf("Tag(%q) = %q, Tag(%q) = %q", a, one, b, two)
		}
		if len(one) < 1 || len(one) > 64 || !utf8.ValidString(one) || strings.ContainsAny(one, "{}: \r\n\x00") {
			t.Errorf("Tag(%q) = %q", a, one)
		}
		for _, key := range []string{fcall.Key("ns", fcall.Subject(a), "log"), fcall.KeyOf("ns", one, "limit", b)} {
			if got, want := hash.Slot(key), hash.Slot(one); got != want {
				t.Errorf("%q is in slot %d, its tag %q in %d", key, got, one, want)
			}
			if parts := strings.SplitN(key, ":", 3); len(parts) != 3 || parts[0] != "ns" || parts[1] != "{"+one+"}" {
				t.Errorf("%q does not parse", key)
			}
		}
		if a != b && fcall.KeyOf("ns", "t", "limit", a) == fcall.KeyOf("ns", "t", "limit", b) {
			t.Errorf("rows %q and %q share a key", a, b)
		}
	})
}
