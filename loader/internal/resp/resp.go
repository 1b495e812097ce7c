// Package resp reads replies that have one form in RESP2 and another in RESP3.
package resp

import (
	"strconv"
	"time"
)

// A FormatError is a reply that does not have the form that servers document.
type FormatError string

// Error returns the text.
func (e FormatError) Error() string { return string(e) }

// Map reads a map of RESP3 or its flat form in RESP2. Anything else is an empty map.
func Map(reply any) map[string]any {
	m := map[string]any{}
	switch r := reply.(type) {
	case map[any]any:
		for k, v := range r {
			if name, ok := k.(string); ok {
				m[name] = v
			}
		}
	case []any:
		for i := 0; i+1 < len(r); i += 2 {
			if name, ok := r[i].(string); ok {
				m[name] = r[i+1]
			}
		}
	}
	return m
}

// Pairs reads members with scores: pairs in RESP3, a flat list in RESP2.
func Pairs(reply any) [][2]any {
	items, _ := reply.([]any)
	var rows [][2]any
	for i := 0; i < len(items); i++ {
		if pair, ok := items[i].([]any); ok && len(pair) == 2 {
			rows = append(rows, [2]any{pair[0], pair[1]})
		} else if i+1 < len(items) {
			rows = append(rows, [2]any{items[i], items[i+1]})
			i++
		}
	}
	return rows
}

// Int reads a whole number in any form that a server sends. A time in ms has 13 digits, which a double holds exactly.
func Int(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case float64:
		return int64(v), true
	case string:
		f, err := strconv.ParseFloat(v, 64)
		return int64(f), err == nil
	}
	return 0, false
}

// Time reads the reply of TIME, to the microsecond.
func Time(reply any) (time.Time, error) {
	if parts, _ := reply.([]any); len(parts) == 2 {
		seconds, okS := Int(parts[0])
		micros, okM := Int(parts[1])
		if okS && okM {
			return time.Unix(seconds, micros*1000).UTC(), nil
		}
	}
	return time.Time{}, FormatError("the reply of TIME is not two numbers")
}
