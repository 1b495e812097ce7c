package adapter

import (
	"encoding"
	"fmt"
	"strconv"
	"strings"
)

// wordsOf returns the words of a command as they are sent.
func wordsOf(args []any) ([]string, error) {
	words := make([]string, len(args))
	for i, arg := range args {
		switch arg := arg.(type) {
		case string:
			words[i] = arg
		case []byte:
			words[i] = string(arg)
		case int:
			words[i] = strconv.Itoa(arg)
		case int64:
			words[i] = strconv.FormatInt(arg, 10)
		case float64:
			words[i] = strconv.FormatFloat(arg, 'f', -1, 64)
		case encoding.BinaryMarshaler:
			text, err := arg.MarshalBinary()
			if err != nil {
				return nil, err
			}
			words[i] = string(text)
		default:
			return nil, fmt.Errorf("adapter: cannot send word %d, a %T", i+1, arg)
		}
	}
	return words, nil
}

// anyKey routes commands without keys.
const anyKey = "any"

// keyOf returns the first key of a call of a function or script, or anyKey.
func keyOf(words []string) string {
	if len(words) < 4 || words[2] == "0" {
		return anyKey
	}
	switch strings.TrimSuffix(words[0], "_RO") {
	case "FCALL", "EVAL", "EVALSHA":
		return words[3]
	}
	return anyKey
}
