package goclient

import (
	"strings"

	"github.com/rlfunc/rlfunc/codegen/internal/clients"
)

// initialisms are words that Go writes in upper case.
var initialisms = map[string]string{
	"acl": "ACL", "api": "API", "gcra": "GCRA", "http": "HTTP", "id": "ID", "ip": "IP", "ttl": "TTL", "url": "URL", "uuid": "UUID",
}

// Name turns snake_case into an exported Go name: sliding_log into SlidingLog.
func Name(name string) string {
	var b strings.Builder
	for _, w := range strings.Split(name, "_") {
		if big, ok := initialisms[w]; ok {
			b.WriteString(big)
		} else {
			b.WriteString(strings.ToUpper(w[:1]) + w[1:])
		}
	}
	return b.String()
}

// privateName turns snake_case into an unexported Go name.
func privateName(name string) string {
	first, rest, more := strings.Cut(name, "_")
	if !more {
		return first
	}
	return first + Name(rest)
}

// lowerFirst lowers the first letter of a sentence, for use after a name; an initialism stays.
func lowerFirst(text string) string {
	if len(text) > 1 && strings.ToLower(text[1:2]) == text[1:2] {
		return strings.ToLower(text[:1]) + text[1:]
	}
	return text
}

// paragraphs formats a doc as comment lines, wrapped at 110 columns.
func paragraphs(doc string) string {
	const mark = "// "
	lines := clients.Wrap(doc, 110-len(mark))
	for i, line := range lines {
		lines[i] = strings.TrimRight(mark+line, " ")
	}
	return strings.Join(lines, "\n")
}
