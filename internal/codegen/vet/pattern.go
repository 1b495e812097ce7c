package vet

import (
	"strings"
	"unicode"
)

// replaces reports whether gsub with a pattern of one class or set, as %c or [^%w]+, replaces every c. Of other patterns it reports false.
func replaces(pattern string, c byte) bool {
	if n := len(pattern); n > 2 && strings.IndexByte("+*", pattern[n-1]) >= 0 && pattern[n-2] != '%' {
		pattern = pattern[:n-1]
	}
	switch {
	case len(pattern) == 2 && pattern[0] == '%':
		return inClass(pattern[1], c)
	case strings.HasPrefix(pattern, "[^") && strings.HasSuffix(pattern, "]"):
		has, ok := inSet(pattern[2:len(pattern)-1], c)
		return ok && !has
	case strings.HasPrefix(pattern, "[") && strings.HasSuffix(pattern, "]"):
		has, ok := inSet(pattern[1:len(pattern)-1], c)
		return ok && has
	}
	return false
}

// inSet reports whether a set has c, and whether it is one set.
func inSet(set string, c byte) (has, ok bool) {
	for i := 0; i < len(set); i++ {
		switch {
		case set[i] == ']' && i > 0:
			return false, false
		case set[i] == '%' && i+1 < len(set):
			i++
			has = has || inClass(set[i], c)
		case i+2 < len(set) && set[i+1] == '-':
			has = has || set[i] <= c && c <= set[i+2]
			i += 2
		default:
			has = has || set[i] == c
		}
	}
	return has, true
}

// inClass reports whether %class has c; %. and other signs are themselves.
func inClass(class, c byte) bool {
	r, in := rune(c), false
	ascii := c < 128
	switch unicode.ToLower(rune(class)) {
	case 'a':
		in = ascii && unicode.IsLetter(r)
	case 'c':
		in = ascii && unicode.IsControl(r)
	case 'd':
		in = ascii && unicode.IsDigit(r)
	case 'l':
		in = ascii && unicode.IsLower(r)
	case 'p':
		in = ascii && (unicode.IsPunct(r) || unicode.IsSymbol(r))
	case 's':
		in = strings.IndexByte(" \t\n\v\f\r", c) >= 0
	case 'u':
		in = ascii && unicode.IsUpper(r)
	case 'w':
		in = ascii && (unicode.IsLetter(r) || unicode.IsDigit(r))
	case 'x':
		in = strings.IndexByte("0123456789abcdefABCDEF", c) >= 0
	default:
		return class == c
	}
	return in == unicode.IsLower(rune(class))
}
