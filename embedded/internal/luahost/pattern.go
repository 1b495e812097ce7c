package luahost

import "strings"

// The limits of Lua 5.1's patterns.
const (
	maxCaptures   = 32
	maxMatchDepth = 100_000 // nested calls; C has no limit here but its stack
)

// capture is one pair of parentheses: its start and its length, or a position.
type capture struct{ start, size int }

const (
	captureOpen     = -1
	capturePosition = -2
)

// matcher runs one pattern on one string. It follows lstrlib.c of Lua 5.1.5, so
// that matches, captures and errors are the same; %f is its frontier pattern.
type matcher struct {
	call     call
	text     string
	pattern  string
	level    int
	depth    int
	steps    int // since the budget was asked
	captures [maxCaptures]capture
}

// stepsPerLook is how many steps a pattern takes before it asks the budget, which costs more than they do.
const stepsPerLook = 1 << 10

// step counts n bytes that were looked at, so that Kill and deadlines end a pattern that takes too long: some take exponential time.
func (m *matcher) step(n int) {
	if m.steps += n; m.steps < stepsPerLook {
		return
	}
	m.steps = 0
	if b, ok := m.call.Context().(*budget); ok && b.look() != nil {
		m.call.RaiseError("%s", b.stopped)
	}
}

// match tries the pattern from p on at s; it gives the end of the match or -1.
func (m *matcher) match(s, p int) int {
	if m.depth++; m.depth > maxMatchDepth {
		m.call.fail("pattern too complex")
	}
	defer func() { m.depth-- }()
	for {
		m.step(1)
		if p == len(m.pattern) {
			return s
		}
		switch m.pattern[p] {
		case '(':
			if p+1 < len(m.pattern) && m.pattern[p+1] == ')' {
				return m.startCapture(s, p+2, capturePosition)
			}
			return m.startCapture(s, p+1, captureOpen)
		case ')':
			return m.endCapture(s, p+1)
		case '$':
			if p+1 == len(m.pattern) {
				if s == len(m.text) {
					return s
				}
				return -1
			}
		case '%':
			if p+1 < len(m.pattern) {
				switch c := m.pattern[p+1]; {
				case c == 'b':
					if s = m.balance(s, p+2); s < 0 {
						return -1
					}
					p += 4
					continue
				case c == 'f':
					p += 2
					if p >= len(m.pattern) || m.pattern[p] != '[' {
						m.call.fail("missing '[' after '%%f' in pattern")
					}
					end := m.classEnd(p)
					if m.inSet(m.before(s), p, end-1) || !m.inSet(m.at(s), p, end-1) {
						return -1
					}
					p = end
					continue
				case '0' <= c && c <= '9':
					if s = m.backReference(s, c); s < 0 {
						return -1
					}
					p += 2
					continue
				}
			}
		}
		end := m.classEnd(p)
		one := s < len(m.text) && m.single(m.text[s], p, end)
		var suffix byte
		if end < len(m.pattern) {
			suffix = m.pattern[end]
		}
		switch suffix {
		case '?':
			if one {
				if r := m.match(s+1, end+1); r >= 0 {
					return r
				}
			}
			p = end + 1
		case '*':
			return m.most(s, p, end)
		case '+':
			if !one {
				return -1
			}
			return m.most(s+1, p, end)
		case '-':
			return m.fewest(s, p, end)
		default:
			if !one {
				return -1
			}
			s, p = s+1, end
		}
	}
}

// at and before give NUL outside of the text, as C's terminator does.
func (m *matcher) at(s int) byte {
	if s < len(m.text) {
		return m.text[s]
	}
	return 0
}

func (m *matcher) before(s int) byte {
	if s > 0 {
		return m.text[s-1]
	}
	return 0
}

// classEnd is where the single-character class at p ends.
func (m *matcher) classEnd(p int) int {
	c := m.pattern[p]
	p++
	switch c {
	case '%':
		if p == len(m.pattern) {
			m.call.fail("malformed pattern (ends with '%%')")
		}
		return p + 1
	case '[':
		if p < len(m.pattern) && m.pattern[p] == '^' {
			p++
		}
		for first := true; first || p >= len(m.pattern) || m.pattern[p] != ']'; first = false {
			if p >= len(m.pattern) {
				m.call.fail("malformed pattern (missing ']')")
			}
			c := m.pattern[p]
			p++
			if c == '%' && p < len(m.pattern) {
				p++
			}
		}
		return p + 1
	}
	return p
}

func (m *matcher) single(c byte, p, end int) bool {
	switch m.pattern[p] {
	case '.':
		return true
	case '%':
		return inClass(c, m.pattern[p+1])
	case '[':
		return m.inSet(c, p, end-1)
	}
	return m.pattern[p] == c
}

// inSet looks c up in the set from '[' at p to ']' at end.
func (m *matcher) inSet(c byte, p, end int) bool {
	in := true
	p++
	if m.pattern[p] == '^' {
		in = false
		p++
	}
	for ; p < end; p++ {
		switch {
		case m.pattern[p] == '%':
			p++
			if inClass(c, m.pattern[p]) {
				return in
			}
		case p+2 < end && m.pattern[p+1] == '-':
			if m.pattern[p] <= c && c <= m.pattern[p+2] {
				return in
			}
			p += 2
		case m.pattern[p] == c:
			return in
		}
	}
	return !in
}

// inClass is %a and its like, in the C locale.
func inClass(c, class byte) bool {
	in := false
	switch class | 0x20 {
	case 'a':
		in = isLetter(c)
	case 'c':
		in = c < 32 || c == 127
	case 'd':
		in = isDigit(c)
	case 'l':
		in = 'a' <= c && c <= 'z'
	case 'p':
		in = 32 < c && c < 127 && !isLetter(c) && !isDigit(c)
	case 's':
		in = isSpace(c)
	case 'u':
		in = 'A' <= c && c <= 'Z'
	case 'w':
		in = isLetter(c) || isDigit(c)
	case 'x':
		in = hexDigit(c) >= 0
	case 'z':
		in = c == 0
	default:
		return class == c
	}
	if !isLetter(class) {
		return class == c
	}
	return in == ('a' <= class && class <= 'z')
}

func isLetter(c byte) bool { c |= 0x20; return 'a' <= c && c <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func (m *matcher) most(s, p, end int) int {
	n := 0
	for s+n < len(m.text) && m.single(m.text[s+n], p, end) {
		n++
	}
	m.step(n)
	for ; n >= 0; n-- {
		if r := m.match(s+n, end+1); r >= 0 {
			return r
		}
	}
	return -1
}

func (m *matcher) fewest(s, p, end int) int {
	for {
		if r := m.match(s, end+1); r >= 0 {
			return r
		}
		if s >= len(m.text) || !m.single(m.text[s], p, end) {
			return -1
		}
		s++
	}
}

func (m *matcher) balance(s, p int) int {
	if p+1 >= len(m.pattern) {
		m.call.fail("unbalanced pattern")
	}
	if s >= len(m.text) || m.text[s] != m.pattern[p] {
		return -1
	}
	open, shut, nested := m.pattern[p], m.pattern[p+1], 1
	for s++; s < len(m.text); s++ {
		m.step(1)
		switch m.text[s] {
		case shut:
			if nested--; nested == 0 {
				return s + 1
			}
		case open:
			nested++
		}
	}
	return -1
}

func (m *matcher) startCapture(s, p, kind int) int {
	if m.level >= maxCaptures {
		m.call.fail("too many captures")
	}
	m.captures[m.level] = capture{s, kind}
	m.level++
	r := m.match(s, p)
	if r < 0 {
		m.level--
	}
	return r
}

func (m *matcher) endCapture(s, p int) int {
	for i := m.level - 1; i >= 0; i-- {
		if m.captures[i].size != captureOpen {
			continue
		}
		m.captures[i].size = s - m.captures[i].start
		r := m.match(s, p)
		if r < 0 {
			m.captures[i].size = captureOpen
		}
		return r
	}
	m.call.fail("invalid pattern capture")
	return -1
}

func (m *matcher) backReference(s int, digit byte) int {
	i := int(digit) - '1'
	if i < 0 || i >= m.level || m.captures[i].size == captureOpen {
		m.call.fail("invalid capture index")
	}
	c := m.captures[i]
	m.step(max(c.size, 0))
	if c.size < 0 || !strings.HasPrefix(m.text[s:], m.text[c.start:c.start+c.size]) {
		return -1
	}
	return s + c.size
}

// hasSpecials reports whether a pattern is more than plain text.
func hasSpecials(pattern string) bool { return strings.ContainsAny(pattern, "^$*+?.([%-") }

// lower and upper change ASCII letters only, as the C locale does.
func lower(s string) string { return mapBytes(s, 'A', 'Z') }

func upper(s string) string { return mapBytes(s, 'a', 'z') }

func mapBytes(s string, from, to byte) string {
	b := []byte(s)
	for i, c := range b {
		if from <= c && c <= to {
			b[i] = c ^ 0x20
		}
	}
	return string(b)
}
