package fcall

import (
	"regexp"
	"strconv"
	"strings"
)

// A server reports the position of an error before the text, after it, or both:
//
//	ERR user_function:7: attempt to index local 'x' (a nil value) script: ratelimit_v1_gcra, on @user_function:7.
//
// A failed redis.call has only the position at the end, where Valkey 9.1 omits the name: `script: on @user_function:7.` The
// first position is where the error was raised, so it is preferred. For a script (see Mode) the chunk is user_script and the
// name is the script's digest. Before Redis 7.0 the error was
//
//	ERR Error running script (call to f_6b1bf486c81ceb7edf3c093f4c48582e38c0e791): @user_script:7: user_script:7: attempt ...
const suffixMark = " script: "

var (
	chunkNames = []string{"user_function:", "user_script:"}
	digestForm = regexp.MustCompile(`^[0-9a-f]{40}\b`)
	oldFront   = regexp.MustCompile(`^Error (?:running|compiling) script \((?:call to f_[0-9a-f]{40}|new function)\): `)
)

func scriptError(fn *Function, code, rest, server string, cause error) error {
	e := &ScriptError{Function: fn.String(), Code: code, Server: server, ReadOnly: fn.ReadOnly, Cause: cause}
	text, behind := cutSuffix(fn, rest)
	text, front := cutPosition(oldFront.ReplaceAllString(text, ""))
	if again, line := cutPosition(text); line > 0 {
		text, front = again, line
	}
	e.Text = text
	if code != "ERR" {
		e.Text = code + " " + text
	} else if plain := denied(text); plain != "" {
		e.Text = plain
		e.Hint = "`rlfunc acl service` prints the permissions that it needs"
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

// clean removes the server's position from the text after a code.
func clean(fn *Function, rest string) string {
	rest, _ = cutSuffix(fn, rest)
	return rest
}

// cutSuffix cuts ` script: <function>, on @user_function:<line>.`, with or without the function, from the end. line is 0 if it
// is missing.
func cutSuffix(fn *Function, text string) (string, int) {
	i := strings.LastIndex(text, suffixMark)
	if i < 0 {
		return text, 0
	}
	if end := text[i+len(suffixMark):]; !strings.HasPrefix(end, fn.ServerName) && !digestForm.MatchString(end) && !strings.HasPrefix(end, "on @user_") {
		return text, 0
	}
	for _, chunk := range chunkNames {
		if _, at, ok := strings.Cut(text[i:], chunk); ok {
			line, _ := leadingInt(at)
			return text[:i], line
		}
	}
	return text[:i], 0
}

// cutPosition cuts `user_function:<line>: ` from the beginning.
func cutPosition(text string) (string, int) {
	for _, chunk := range chunkNames {
		if rest, ok := strings.CutPrefix(strings.TrimPrefix(text, "@"), chunk); ok {
			line, rest := leadingInt(strings.TrimPrefix(rest, " "))
			return strings.TrimPrefix(rest, ": "), line
		}
	}
	return text, 0
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

// shortKey keeps at most the first four bytes of a key's tag, and less than half: a log must not reveal a subject.
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
		return s // a hash reveals nothing, and its whole text finds the key
	}
	return s[:min(4, len(s)/3)] + "..."
}
