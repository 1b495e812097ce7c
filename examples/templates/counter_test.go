package templates_test

import (
	"os"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	luatest "github.com/rlfunc/rlfunc/lua_test"

	"github.com/rlfunc/rlfunc/examples/templates/gen/counter"
)

var counterSuite = luatest.Suite[*counter.Client]{
	Library: counter.Library, Client: counter.New,
	Source: os.DirFS("functions"), Root: "functions",
}

type counterStep = luatest.Step[*counter.Client]

func TestCounter_countsInAWindowAndForEver(t *testing.T) {
	const windowKey, totalKey = "counter:{page7}:window", "counter:{page7}:total"
	hit := luatest.Call((*counter.Client).Hit, counter.HitParams{Subject: "page7", Length: time.Minute})
	add := func(by int64) counter.AddParams { return counter.AddParams{Subject: "page7", By: by} }
	peek := luatest.Call((*counter.Client).Peek, counter.PeekParams{Subject: "page7"})
	counterSuite.Run(
		t,
		counterStep{Name: "nothing", Call: peek, Want: counter.PeekResult{}},
		counterStep{Name: "first use", Call: hit, Writes: true, Want: counter.HitResult{Count: 1, ResetAfter: time.Minute}, TTLs: map[string]time.Duration{windowKey: time.Minute}},
		counterStep{
			Name: "a longer length changes no window", Advance: time.Second, Writes: true,
			Call: luatest.Call((*counter.Client).Hit, counter.HitParams{Subject: "page7", Length: time.Hour, By: 5}), Want: counter.HitResult{Count: 6, ResetAfter: 59 * time.Second},
		},
		counterStep{Name: "a total", Call: luatest.Call((*counter.Client).Add, add(7)), Writes: true, Want: counter.AddResult{Total: 7}},
		counterStep{Name: "below 0", Call: luatest.Call((*counter.Client).Add, add(-10)), Writes: true, Want: counter.AddResult{Total: -3}},
		counterStep{Name: "look", Call: peek, Want: counter.PeekResult{Count: 6, ResetAfter: 59 * time.Second, Total: -3}},
		counterStep{Name: "a new window", Advance: time.Minute, Call: hit, Writes: true, Want: counter.HitResult{Count: 1, ResetAfter: time.Minute}},
		counterStep{Name: "a century later", Advance: 100 * 365 * 24 * time.Hour, Call: peek, Want: counter.PeekResult{Total: -3}},
		counterStep{Name: "to 0", Call: luatest.Call((*counter.Client).Add, add(3)), Writes: true, Want: counter.AddResult{}},
		counterStep{Name: "too much", Call: luatest.Call((*counter.Client).Add, add(1_000_000_001)), WantErr: fcall.ErrArgument},
		counterStep{
			Name: "out of range", Given: func(t testing.TB, s *luatest.Server) { s.Do(t, "SET", totalKey, "9000000000000000") },
			Call: luatest.Call((*counter.Client).Add, add(1)), WantErr: fcall.ErrArgument,
		},
		counterStep{
			Name: "another program's key", Given: func(t testing.TB, s *luatest.Server) { s.Do(t, "SET", totalKey, "nan") },
			Call: luatest.Call((*counter.Client).Add, add(1)), WantErr: fcall.ErrState,
		},
	)
}
