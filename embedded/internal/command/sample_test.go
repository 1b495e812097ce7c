package command_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/embedded/internal/resp"
)

// Redis sends such a reply until the connection is above client-output-buffer-limit.
func TestSample_boundsRepliesOfNegativeCounts(t *testing.T) {
	do := do()
	long := strings.Repeat("x", 1<<20)
	for _, setup := range [][]string{
		{"sadd", "s", "x"}, {"sadd", "long", long},
	} {
		if v := do(setup...); v.IsError() {
			t.Fatal(setup[0], v.Str)
		}
	}
	for _, ask := range [][]string{
		{"srandmember", "s", "-9223372036854775807"},
		{"srandmember", "long", "-256"},
	} {
		if v := do(ask...); v.Kind != resp.Error || v.Str != "ERR value is out of range, the reply would exceed 256 MiB" {
			t.Errorf("%v: %d elements, %q", ask, len(v.Array), v.Str)
		}
	}
	for _, ask := range [][]string{{"srandmember", "s", "-1000000"}, {"srandmember", "long", "-255"}} {
		if v := do(ask...); v.Kind != resp.Array || "-"+strconv.Itoa(len(v.Array)) != ask[2] {
			t.Errorf("%v: %d elements, %q", ask, len(v.Array), v.Str)
		}
	}
}
