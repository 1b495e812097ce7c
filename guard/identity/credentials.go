package identity

import "strings"

const maxScheme = 64 // bytes of an authentication scheme

// IsCredentials reports whether a header, in any case, has credentials behind a scheme (RFC 9110, 11.4): a secret.
func IsCredentials(header string) bool {
	return strings.EqualFold(header, "Authorization") || strings.EqualFold(header, "Proxy-Authorization")
}

// cutScheme returns the scheme and what follows it. The scheme is "" without one. White space is what any service takes for it: DRF and
// passport split at tabs, Python's str.split also at those of Latin-1.
func cutScheme(value string) (scheme, credentials string) {
	value = trimSpace(value)
	for i := range min(len(value), maxScheme) {
		if isSpace(value[i]) {
			if isToken(value[:i]) {
				return value[:i], trimSpace(value[i:])
			}
			break
		}
	}
	return "", value
}

// eachCredentials calls f with each of the credentials in a line: Basic x, Bearer y. Some services look for theirs behind a comma.
func eachCredentials(line string, f func(string)) {
	line = trimSpace(line)
	start := 0
	for i := range len(line) {
		if line[i] != ',' {
			continue
		}
		if scheme, _ := cutScheme(line[i+1:]); scheme != "" {
			f(trimSpace(line[start:i]))
			start = i + 1
		}
	}
	f(line[start:])
}

func trimSpace(text string) string {
	for text != "" && isSpace(text[0]) {
		text = text[1:]
	}
	for text != "" && isSpace(text[len(text)-1]) {
		text = text[:len(text)-1]
	}
	return text
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == 0x85 || c == 0xa0 }
