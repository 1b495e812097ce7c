package resp

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMap_readsBothProtocols(t *testing.T) {
	want := map[string]any{"a": int64(1), "b": "x"}
	for name, reply := range map[string]any{
		"RESP3":                 map[any]any{"a": int64(1), "b": "x", int64(7): "no name"},
		"RESP2":                 []any{"a", int64(1), "b", "x"},
		"RESP2, without an end": []any{"a", int64(1), int64(7), "no name", "b", "x", "c"},
	} {
		if diff := cmp.Diff(want, Map(reply)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	for _, reply := range []any{nil, "text", int64(1), []any{}} {
		if got := Map(reply); len(got) != 0 {
			t.Errorf("%v is read as %v", reply, got)
		}
	}
}
