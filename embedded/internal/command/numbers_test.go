package command

import (
	"math"
	"strconv"
	"testing"
)

func TestParseInt_takesOnlyCanonicalIntegers(t *testing.T) {
	for _, s := range []string{"0", "1", "-1", "123456789012345678", "9223372036854775807", "-9223372036854775808"} {
		want, _ := strconv.ParseInt(s, 10, 64)
		if got, ok := parseInt(s); !ok || got != want {
			t.Errorf("parseInt(%q) = %d, %v", s, got, ok)
		}
	}
	for _, s := range []string{"", "-", "+1", "01", "-0", "-01", " 1", "1 ", "1.0", "1e3", "0x10", "nan", "1\x00", "9223372036854775808", "-9223372036854775809", "111111111111111111111"} {
		if got, ok := parseInt(s); ok {
			t.Errorf("parseInt(%q) = %d, want it refused", s, got)
		}
	}
}

// The texts are what Redis 8.0.2 answers to ZSCORE.
func TestFormatFloat_isTheShortest(t *testing.T) {
	tests := []struct {
		f    float64
		want string
	}{
		{0, "0"},
		{math.Copysign(0, -1), "-0"},
		{0.1, "0.1"},
		{-0.25, "-0.25"},
		{3, "3"},
		{12345.123456789, "1.2345123456789e+4"},
		{1e20, "1e+20"},
		{1e25, "1e+25"},
		{1 << 53, "9007199254740992"},
		{1763706467123456, "1763706467123456"},
		{1763706467123.456, "1763706467123.456"},
		{0.00001234567, "1.234567e-5"},
		{0.123456789012, "0.123456789012"},
		{1e17, "100000000000000000"},
		{123456789012345680000, "123456789012345680000"},
		{1.5e300, "1.5e+300"},
		{1e-7, "1e-7"},
		{-0.000001, "-0.000001"},
		{1e21, "1e+21"},
		{math.Inf(1), "inf"},
		{math.Inf(-1), "-inf"},
	}
	for _, test := range tests {
		if got := formatFloat(test.f); got != test.want {
			t.Errorf("formatFloat(%g) = %s, want %s", test.f, got, test.want)
		}
	}
}

func TestMatch(t *testing.T) {
	tests := []struct {
		pattern, name string
		want          bool
	}{
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
		{"*", "any\nthing", true},
		{"a*c", "abbc", true},
		{"a*c", "abbcd", false},
		{"*a*b*", "xxaxxbxx", true},
		{"**a", "bba", true},
		{"a?c", "abc", true},
		{"a?c", "ac", false},
		{"[abc]", "b", true},
		{"[^abc]", "b", false},
		{"[a-c]x", "bx", true},
		{"[c-a]x", "bx", true},
		{"[a-c]x", "dx", false},
		{`[\]]`, "]", true},
		{`\*`, "*", true},
		{`\*`, "a", false},
		{"ratelimit:{*}:gcra", "ratelimit:{user1}:gcra", true},
		{"[a", "a", true},
	}
	for _, test := range tests {
		if got := matches(test.pattern, test.name); got != test.want {
			t.Errorf("matches(%q, %q) = %v, want %v", test.pattern, test.name, got, test.want)
		}
	}
}
