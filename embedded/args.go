package embedded

import (
	"encoding"
	"fmt"
	"net"
	"strconv"
	"time"
)

// appendArgs adds args in the form that go-redis would send.
func appendArgs(to []string, args []any) ([]string, error) {
	for _, arg := range args {
		text, err := argText(arg)
		if err != nil {
			return to, err
		}
		to = append(to, text)
	}
	return to, nil
}

func argText(arg any) (string, error) {
	switch v := arg.(type) {
	case string:
		return v, nil
	case []byte:
		return string(v), nil
	case int:
		return strconv.Itoa(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case nil:
		return "", nil
	case bool:
		if v {
			return "1", nil
		}
		return "0", nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	case float32:
		return strconv.FormatFloat(float64(v), 'f', -1, 64), nil
	case uint, uint8, uint16, uint32, uint64, int8, int16, int32:
		return fmt.Sprint(v), nil
	case time.Time:
		return v.Format(time.RFC3339Nano), nil
	case time.Duration:
		return strconv.FormatInt(v.Nanoseconds(), 10), nil
	case encoding.BinaryMarshaler:
		b, err := v.MarshalBinary()
		return string(b), err
	case net.IP:
		return string(v), nil
	}
	return "", fmt.Errorf("encode argument: a %T is neither text nor a number, and has no MarshalBinary", arg)
}
