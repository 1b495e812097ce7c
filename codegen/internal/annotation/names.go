package annotation

import (
	"regexp"
	"slices"
)

var (
	nameForm   = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	suffixForm = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	codeForm   = regexp.MustCompile(`^[A-Z][A-Z0-9]*$`)
	semverForm = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)
)

var luaKeywords = []string{
	"and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in", "local", "nil", "not",
	"or", "repeat", "return", "then", "true", "until", "while",
}

// unitSuffixes are name endings for units, which belong in the type.
var unitSuffixes = []string{"_us", "_ms", "_ns", "_sec", "_secs", "_seconds", "_micros", "_millis", "_min", "_minutes"}

func isKeyword(name string) bool { return slices.Contains(luaKeywords, name) }
