package command

// matches reports whether name as a whole matches a pattern of KEYS, SCAN and FUNCTION LIST: ? is any byte, * any run of bytes, [a-c] and [^a-c] a set, \ takes the next byte as it is.
func matches(pattern, name string) bool {
	// Where to go on if the text after the last star does not fit: one byte further in name.
	star, resume := -1, 0
	p, n := 0, 0
	for n < len(name) {
		if p < len(pattern) && pattern[p] == '*' {
			star, resume = p, n
			p++
			continue
		}
		if next, fits := element(pattern, p, name[n]); fits {
			p = next
			n++
			continue
		}
		if star < 0 {
			return false
		}
		resume++
		p, n = star+1, resume
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// element matches b against the element of pattern at p and returns where the next element begins.
func element(pattern string, p int, b byte) (next int, fits bool) {
	if p >= len(pattern) {
		return p, false
	}
	switch pattern[p] {
	case '?':
		return p + 1, true
	case '[':
		return bracket(pattern, p+1, b)
	case '\\':
		if p+1 < len(pattern) {
			p++
		}
	}
	return p + 1, pattern[p] == b
}

func bracket(pattern string, p int, b byte) (next int, fits bool) {
	negated := p < len(pattern) && pattern[p] == '^'
	if negated {
		p++
	}
	for p < len(pattern) && pattern[p] != ']' {
		switch {
		case pattern[p] == '\\' && p+1 < len(pattern):
			p++
			fits = fits || pattern[p] == b
		case p+2 < len(pattern) && pattern[p+1] == '-':
			low, high := pattern[p], pattern[p+2]
			if low > high {
				low, high = high, low
			}
			p += 2
			fits = fits || low <= b && b <= high
		default:
			fits = fits || pattern[p] == b
		}
		p++
	}
	return min(p+1, len(pattern)), fits != negated
}
