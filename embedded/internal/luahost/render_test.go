package luahost

import (
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
)

// render writes a reply on one line: 1, "bulk", +status, -error, nil, [array].
func render(v reply.Value) string {
	switch v = v.RESP2(); v.Kind {
	case reply.Int:
		return strconv.FormatInt(v.Int, 10)
	case reply.Bulk:
		return strconv.Quote(v.Str)
	case reply.Status:
		return "+" + v.Str
	case reply.Error:
		return "-" + v.Str
	case reply.Array:
		parts := make([]string, len(v.Array))
		for i, e := range v.Array {
			parts[i] = render(e)
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	return "nil"
}
