package luasrc

import "strings"

// comments finds every comment, skipping strings, because "--" inside one begins no comment.
func comments(text string) []Comment {
	var out []Comment
	line, lineStart := 1, 0
	own := true // nothing but blanks so far on this line
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\n':
			line, lineStart, own = line+1, i+1, true
			i++
		case c == ' ' || c == '\t' || c == '\r':
			i++
		case strings.HasPrefix(text[i:], "--"):
			end := longEnd(text, i+2)
			long := end > 0
			if !long {
				end = i + strings.IndexByte(text[i:]+"\n", '\n')
			}
			for n, part := range strings.Split(text[i:end], "\n") {
				comment := Comment{Line: line + n, Col: 1, Text: strings.TrimRight(part, "\r"), Long: long, Own: true}
				if n == 0 {
					comment.Col, comment.Own = i-lineStart+1, own
				}
				out = append(out, comment)
			}
			line, lineStart = advance(text, i, end, line, lineStart)
			i, own = end, false
		case c == '"' || c == '\'':
			end := quotedEnd(text, i)
			line, lineStart = advance(text, i, end, line, lineStart)
			i, own = end, false
		case c == '[' && longEnd(text, i) > 0:
			end := longEnd(text, i)
			line, lineStart = advance(text, i, end, line, lineStart)
			i, own = end, false
		default:
			i, own = i+1, false
		}
	}
	return out
}

func advance(text string, from, to, line, lineStart int) (int, int) {
	part := text[from:to]
	if n := strings.Count(part, "\n"); n > 0 {
		return line + n, from + strings.LastIndexByte(part, '\n') + 1
	}
	return line, lineStart
}

// longEnd is the offset after a long bracket that opens at i, or 0 when none opens there.
func longEnd(text string, i int) int {
	if i >= len(text) || text[i] != '[' {
		return 0
	}
	level := 0
	for i+1+level < len(text) && text[i+1+level] == '=' {
		level++
	}
	if i+1+level >= len(text) || text[i+1+level] != '[' {
		return 0
	}
	closing := "]" + strings.Repeat("=", level) + "]"
	at := strings.Index(text[i:], closing)
	if at < 0 {
		return len(text)
	}
	return i + at + len(closing)
}

// quotedEnd is the offset after the quoted string that opens at i.
func quotedEnd(text string, i int) int {
	quote := text[i]
	for j := i + 1; j < len(text); j++ {
		switch text[j] {
		case '\\':
			j++
		case quote, '\n':
			return j + 1
		}
	}
	return len(text)
}
