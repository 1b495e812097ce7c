package conformance

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/codegen/internal/conformance/gen/everything"
	"github.com/rlfunc/rlfunc/fcall"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// TestKeep_stateLastsWhereTheHeaderSaysSo plays the table as an author would: keys that last need no expiry, and keep none.
func TestKeep_stateLastsWhereTheHeaderSaysSo(t *testing.T) {
	suite := luatest.Suite[*everything.Client]{Library: everything.Library, Client: everything.New, Source: os.DirFS("functions"), Root: "functions"}
	keep := luatest.Call((*everything.Client).Keep, everything.KeepParams{
		Subject: "u", Name: "apples", Amount: 3, Lots: []everything.KeepLots{{Name: "a:b"}},
	})
	left := "everything:{u}:left:" + fcall.Tag("a:b") // not plain, so its key ends in a hash
	suite.Run(t,
		luatest.Step[*everything.Client]{
			Name: "first", Call: keep, Writes: true, Want: everything.KeepResult{Stock: 3},
			TTLs: map[string]time.Duration{"everything:{u}:stock": luatest.Immortal, left: luatest.Immortal, "everything:{u}:recent": time.Minute},
		},
		luatest.Step[*everything.Client]{
			Name: "a century later", Advance: 100 * 365 * 24 * time.Hour, Call: keep, Writes: true, Want: everything.KeepResult{Stock: 6},
			TTLs: map[string]time.Duration{"everything:{u}:stock": luatest.Immortal, left: luatest.Immortal, "everything:{u}:recent": time.Minute},
		},
	)
	if diff := cmp.Diff([]string{"left", "stock"}, everything.Library.Forever); diff != "" {
		t.Errorf("suffixes (-want +got):\n%s", diff)
	}
}
