package identity

import "strings"

// hops reads the hops of a header line from its end.
type hops struct {
	rest      string
	forwarded bool // in the form of RFC 7239
	garbled   bool // a hop is invalid, so earlier ones do not count
}

// last removes and returns the last hop. It reports false if there is none or it is garbled. Empty elements do not count
// (RFC 9110, 5.6.1).
func (h *hops) last() (string, bool) {
	for h.rest != "" && !h.garbled {
		comma := h.comma()
		if h.garbled {
			break
		}
		element := strings.Trim(h.rest[comma+1:], " \t")
		h.rest = h.rest[:max(comma, 0)]
		if element == "" {
			continue
		}
		if !h.forwarded {
			return element, true
		}
		if hop, ok := forParameter(element); ok {
			return hop, true
		}
		h.garbled = true
	}
	return "", false
}

// comma returns the index of the last comma outside quotes, or -1.
func (h *hops) comma() int {
	if !h.forwarded {
		return strings.LastIndexByte(h.rest, ',')
	}
	quoted := false
	for i := len(h.rest) - 1; i >= 0; i-- {
		switch c := h.rest[i]; {
		case c == '"':
			if before := h.rest[:i]; (len(before)-len(strings.TrimRight(before, `\`)))%2 == 0 {
				quoted = !quoted
			}
		case c == ',' && !quoted:
			return i
		}
	}
	h.garbled = quoted
	return -1
}

// forParameter returns the `for` parameter of an element such as for="[2001:db8::1]:4711";proto=http, without quotes.
func forParameter(element string) (string, bool) {
	node, found := "", false
	for element != "" {
		var pair string
		pair, element = cutQuoted(element, ';')
		name, value, ok := strings.Cut(pair, "=")
		if !strings.EqualFold(strings.Trim(name, " \t"), "for") {
			continue
		}
		if !ok || found {
			return "", false
		}
		node, found = strings.Trim(value, " \t"), true
	}
	if len(node) >= 2 && node[0] == '"' && node[len(node)-1] == '"' {
		node = node[1 : len(node)-1]
	}
	return node, found
}

// cutQuoted cuts at the first separator outside quotes.
func cutQuoted(s string, separator byte) (before, after string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case s[i] == '\\' && quoted:
			i++ // skip the escaped character
		case s[i] == separator && !quoted:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}
