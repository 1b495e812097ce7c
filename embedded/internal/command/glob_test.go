package command

import "testing"

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
