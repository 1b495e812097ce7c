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

// What the headers promise holds for any sequence of calls.
func TestCounter_keepsItsContract(t *testing.T) { luatest.Contract(t, counterSuite) }

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

func TestCounter_boundsAndWrongClocks(t *testing.T) {
	const years, longest = 10 * 365 * 24 * time.Hour, 366 * 24 * time.Hour
	const windowKey, totalKey = "counter:{page7}:window", "counter:{page7}:total"
	hit := luatest.Call((*counter.Client).Hit, counter.HitParams{Subject: "page7", Length: time.Minute})
	most := luatest.Call((*counter.Client).Hit, counter.HitParams{Subject: "page7", Length: longest, By: 1_000_000})
	add := func(by int64) counter.AddParams { return counter.AddParams{Subject: "page7", By: by} }
	peek := luatest.Call((*counter.Client).Peek, counter.PeekParams{Subject: "page7"})
	first := counter.HitResult{Count: 1, ResetAfter: time.Minute}
	counterSuite.Run(
		t,
		counterStep{Name: "largest legal arguments", Call: most, Writes: true, Want: counter.HitResult{Count: 1_000_000, ResetAfter: longest}, TTLs: map[string]time.Duration{windowKey: longest}},
		counterStep{Name: "the largest sum", Call: luatest.Call((*counter.Client).Add, add(1_000_000_000)), Writes: true, Want: counter.AddResult{Total: 1_000_000_000}},
		counterStep{Name: "the smallest", Call: luatest.Call((*counter.Client).Add, add(-1_000_000_000)), Writes: true, Want: counter.AddResult{}},
		counterStep{Name: "a clock years ahead", Advance: years, Call: hit, Writes: true, Want: first},
		counterStep{Name: "and right again: the window is over", Advance: -years, Call: peek, Want: counter.PeekResult{}},
		counterStep{
			Name: "a new window", Call: hit, Writes: true, Want: first,
			TTLs: map[string]time.Duration{windowKey: time.Minute, totalKey: luatest.Immortal},
		},
		counterStep{Name: "set back within the window", Advance: -30 * time.Second, Call: hit, Writes: true, Want: counter.HitResult{Count: 2, ResetAfter: 90 * time.Second}},
		counterStep{Name: "a clock years back", Advance: -years, Call: hit, Writes: true, Want: first},
		counterStep{
			Name: "another program's key", Given: func(t testing.TB, s *luatest.Server) { s.Do(t, "SET", windowKey, "7", "KEEPTTL") },
			Call: hit, WantErr: fcall.ErrState,
		},
		counterStep{Name: "another program's key to look at", Call: peek, WantErr: fcall.ErrState},
	)
}
