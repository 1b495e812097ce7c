package goclient

import (
	"strings"
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
	var b strings.Builder
	for i, p := range strings.Split(doc, "\n\n") {
		if i > 0 {
			b.WriteString("//\n")
		}
		line := "//"
		for _, w := range strings.Fields(p) {
			if len(line)+1+len(w) > 110 && line != "//" {
				b.WriteString(line + "\n")
				line = "//"
			}
			line += " " + w
		}
		b.WriteString(line + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}
