package luahost

import (
	"errors"
	"strings"

	"github.com/rlfunc/rlfunc/embedded/internal/wire"
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
	parts, ok := wire.Words(code[:end])
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
