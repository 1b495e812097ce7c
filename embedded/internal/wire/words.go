package wire

import (
	"strconv"
	"strings"
)

// Words splits a line typed by hand, as Redis does: quotes hold blanks together and escapes stand for bytes.
func Words(line string) (words []string, ok bool) {
	for {
		line = strings.TrimLeft(line, " \t\n\v\f\r\x00")
		if line == "" {
			return words, true
		}
		word, rest, ok := cutWord(line)
		if !ok {
			return nil, false
		}
		words, line = append(words, word), rest
	}
}

// cutWord takes the first word off a line that does not begin with a blank.
func cutWord(line string) (word, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t', '\n', '\r', 0:
			return b.String(), line[i:], true
		case '"', '\'':
			n, closed := unquote(line[i:], &b)
			if !closed {
				return "", "", false
			}
			if rest := line[i+n:]; rest != "" && !strings.ContainsAny(rest[:1], " \t\n\v\f\r") {
				return "", "", false
			}
			return b.String(), line[i+n:], true
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), "", true
}

var escapes = map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', 'b': '\b', 'a': '\a'}

// unquote appends what stands between the quotes that s begins with and returns their length.
func unquote(s string, b *strings.Builder) (n int, closed bool) {
	quote := s[0]
	for i := 1; i < len(s); i++ {
		c := s[i]
		switch {
		case c == quote:
			return i + 1, true
		case c != '\\' || i+1 == len(s):
			b.WriteByte(c)
		case quote == '\'':
			if s[i+1] == '\'' {
				i++
			}
			b.WriteByte(s[i])
		default:
			i++
			if s[i] == 'x' && i+2 < len(s) {
				if code, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
					b.WriteByte(byte(code))
					i += 2
					continue
				}
			}
			if e, known := escapes[s[i]]; known {
				b.WriteByte(e)
			} else {
				b.WriteByte(s[i])
			}
		}
	}
	return 0, false
}
