package fcall

import (
	"strconv"
	"strings"
)

// A server tells where a function failed in front of the text, behind it, or both:
//
//	ERR user_function:7: attempt to index local 'x' (a nil value) script: ratelimit_v1_gcra, on @user_function:7.
//
// A failed redis.call has only the end. The line in front is where the error was raised, so it is preferred.
const (
	chunkName  = "user_function:"
	suffixMark = " script: "
)

func scriptError(fn *Function, code, rest, server string, cause error) error {
	e := &ScriptError{Function: fn.String(), Code: code, Server: server, ReadOnly: fn.ReadOnly, Cause: cause}
	text, behind := cutSuffix(fn, rest)
	text, front := cutPosition(text)
	e.Text = text
	if code != "ERR" {
		e.Text = code + " " + text
	}
	bundleLine := front
	if bundleLine == 0 {
		bundleLine = behind
	}
	if bundleLine > 0 {
		e.Line = bundleLine
		if fn.Library != nil {
			e.File, e.Line = fn.Library.Locate(bundleLine)
		}
	}
	return e
}

// clean removes a server's position from the text behind a code.
func clean(fn *Function, rest string) string {
	rest, _ = cutSuffix(fn, rest)
	return rest
}

// cutSuffix cuts ` script: <function>, on @user_function:<line>.` from the end; line is 0 where there is none.
func cutSuffix(fn *Function, text string) (string, int) {
	i := strings.LastIndex(text, suffixMark+fn.ServerName)
	if i < 0 {
		return text, 0
	}
	_, at, ok := strings.Cut(text[i:], chunkName)
	if !ok {
		return text[:i], 0
	}
	line, _ := leadingInt(at)
	return text[:i], line
}

// cutPosition cuts `user_function:<line>: ` from the front.
func cutPosition(text string) (string, int) {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(text, "@"), chunkName)
	if !ok {
		return text, 0
	}
	line, rest := leadingInt(rest)
	return strings.TrimPrefix(rest, ": "), line
}

func leadingInt(s string) (int, string) {
	end := 0
	for end < len(s) && '0' <= s[end] && s[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(s[:end])
	if err != nil {
		return 0, s[end:]
	}
	return n, s[end:]
}

var newlines = strings.NewReplacer("\r\n", " ", "\r", " ", "\n", " ")

func oneLine(s string) string { return newlines.Replace(s) }

// shortKey keeps at most the first four bytes of a key's tag, and less than half: a log must not tell who a subject is.
func shortKey(key string) string {
	open := strings.IndexByte(key, '{')
	if open < 0 {
		return quote(shorten(key))
	}
	size := strings.IndexByte(key[open:], '}')
	if size < 0 {
		return quote(shorten(key))
	}
	return oneLine(key[:open+1] + shorten(key[open+1:open+size]) + key[open+size:])
}

func shorten(s string) string {
	if len(s) > 0 && s[0] == foldMark {
		return s // a hash tells nothing, and the whole of it finds the key
	}
	return s[:min(4, len(s)/3)] + "..."
}
