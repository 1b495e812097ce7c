package fcall

import (
	"strings"
)

// judge says what an error proves, and whether the call may be sent again.
func judge(fn *Function, err error, attempt int) (error, bool) {
	return &OutcomeError{Function: fn.String(), Cause: err}, false
}

func newReply(fn *Function, val any) (*Reply, error) {
	vals, ok := val.([]any)
	if !ok {
		return nil, &ReplyError{Function: fn.String(), Must: "be an array", Got: describe(val)}
	}
	return &Reply{fn: fn, vals: vals}, nil
}

func oneLine(s string) string { return strings.NewReplacer("\r", " ", "\n", " ").Replace(s) }

func shortKey(key string) string { return key }
