package luahost

import (
	"errors"
	"strings"
)

var errBadName = errors.New("Library names can only contain letters, numbers, or underscores(_) and must be at least one character long")

type metadata struct {
	engine, name string
	body         string // from the line feed after the shebang on, so that lines keep their numbers
}

// parseMetadata reads the first line, "#!lua name=x".
func parseMetadata(code string) (metadata, error) {
	if !strings.HasPrefix(code, "#!") {
		return metadata{}, errors.New("Missing library metadata")
	}
	end := strings.IndexByte(code, '\n')
	if end < 0 {
		return metadata{}, errors.New("Invalid library metadata")
	}
	parts, ok := splitArgs(code[:end])
	if !ok || len(parts) == 0 {
		return metadata{}, errors.New("Invalid library metadata")
	}
	m := metadata{engine: parts[0][2:], body: code[end:]}
	named := false
	for _, part := range parts[1:] {
		if len(part) < 5 || !strings.EqualFold(part[:5], "name=") {
			return metadata{}, errors.New("Invalid metadata value given: " + part)
		}
		if named {
			return metadata{}, errors.New("Invalid metadata value, name argument was given multiple times")
		}
		m.name, named = part[5:], true
	}
	if !named {
		return metadata{}, errors.New("Library name was not given")
	}
	return m, nil
}

// validName is the rule for libraries and functions alike.
func validName(name string) bool {
	for i := 0; i < len(name); i++ {
		c := name[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_') {
			return false
		}
	}
	return name != ""
}

// splitArgs splits a line as Redis's sdssplitargs does, with quotes and escapes.
func splitArgs(line string) (args []string, ok bool) {
	i := 0
	for {
		for i < len(line) && isSpace(line[i]) {
			i++
		}
		if i == len(line) {
			return args, true
		}
		var arg []byte
		var quote byte
	scan:
		for ; ; i++ {
			switch {
			case i == len(line) && quote != 0:
				return nil, false
			case i == len(line):
				break scan
			case quote == 0 && isSpace(line[i]):
				break scan
			case quote == 0 && (line[i] == '"' || line[i] == '\''):
				quote = line[i]
			case quote != 0 && line[i] == quote:
				if i+1 < len(line) && !isSpace(line[i+1]) {
					return nil, false
				}
				i++
				break scan
			case quote == '\'' && strings.HasPrefix(line[i:], `\'`):
				arg = append(arg, '\'')
				i++
			case quote == '"' && line[i] == '\\' && i+1 < len(line):
				c, n := unescape(line[i+1:])
				arg = append(arg, c)
				i += n
			default:
				arg = append(arg, line[i])
			}
		}
		args = append(args, string(arg))
	}
}

// unescape reads what follows a backslash inside of double quotes.
func unescape(s string) (c byte, n int) {
	if s[0] == 'x' && len(s) >= 3 && hexDigit(s[1]) >= 0 && hexDigit(s[2]) >= 0 {
		return byte(hexDigit(s[1])<<4 | hexDigit(s[2])), 3
	}
	switch s[0] {
	case 'n':
		return '\n', 1
	case 'r':
		return '\r', 1
	case 't':
		return '\t', 1
	case 'b':
		return '\b', 1
	case 'a':
		return '\a', 1
	}
	return s[0], 1
}

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
