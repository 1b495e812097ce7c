package templates_test

import (
	"context"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	luatest "github.com/rlfunc/rlfunc/lua_test"

	"github.com/rlfunc/rlfunc/examples/templates/gen/bloom"
)

var bloomSuite = luatest.Suite[*bloom.Client]{
	Library: bloom.Library, Client: bloom.New,
	Source: os.DirFS("functions"), Root: "functions",
}

// What the headers promise holds for any sequence of calls.
func TestBloom_keepsItsContract(t *testing.T) { luatest.Contract(t, bloomSuite) }

type bloomStep = luatest.Step[*bloom.Client]

func TestBloom_knowsWhatWasAdded(t *testing.T) {
	add := func(item string, keep time.Duration) bloom.AddParams {
		return bloom.AddParams{Subject: "seen", Item: item, Keep: keep}
	}
	contains := func(item string) bloom.ContainsParams { return bloom.ContainsParams{Subject: "seen", Item: item} }
	bloomSuite.Run(
		t,
		bloomStep{Name: "nothing", Call: luatest.Call((*bloom.Client).Contains, contains("a")), Want: bloom.ContainsResult{}},
		bloomStep{
			Name: "first item", Call: luatest.Call((*bloom.Client).Add, add("a", time.Hour)), Writes: true, Want: bloom.AddResult{New: true},
			TTLs: map[string]time.Duration{"bloom:{seen}:bits": time.Hour},
		},
		bloomStep{Name: "again", Call: luatest.Call((*bloom.Client).Add, add("a", time.Hour)), Want: bloom.AddResult{}},
		bloomStep{Name: "known", Call: luatest.Call((*bloom.Client).Contains, contains("a")), Want: bloom.ContainsResult{Known: true}},
		bloomStep{Name: "another", Call: luatest.Call((*bloom.Client).Contains, contains("b")), Want: bloom.ContainsResult{}},
		bloomStep{
			Name: "the end stays", Advance: time.Minute, Call: luatest.Call((*bloom.Client).Add, add("b\x00\r\n", time.Hour)), Writes: true, Want: bloom.AddResult{New: true},
			TTLs: map[string]time.Duration{"bloom:{seen}:bits": 59 * time.Minute},
		},
		bloomStep{Name: "ended", Advance: time.Hour, Call: luatest.Call((*bloom.Client).Contains, contains("a")), Want: bloom.ContainsResult{}},
		bloomStep{Name: "no item", Call: luatest.Call((*bloom.Client).Add, add("", time.Hour)), WantErr: fcall.ErrArgument},
	)
}

func TestBloom_boundsAndWrongClocks(t *testing.T) {
	const years, longest, key = 10 * 365 * 24 * time.Hour, 366 * 24 * time.Hour, "bloom:{seen}:bits"
	add := func(item string, keep time.Duration) func(context.Context, *bloom.Client) (any, error) {
		return luatest.Call((*bloom.Client).Add, bloom.AddParams{Subject: "seen", Item: item, Keep: keep})
	}
	lasts := func(d time.Duration) map[string]time.Duration { return map[string]time.Duration{key: d} }
	bloomSuite.Run(
		t,
		bloomStep{Name: "largest legal arguments", Call: add(strings.Repeat("\x00", 1024), longest), Writes: true, Want: bloom.AddResult{New: true}, TTLs: lasts(longest)},
		bloomStep{Name: "set back by a day", Advance: -24 * time.Hour, Call: add("a", time.Hour), Writes: true, Want: bloom.AddResult{New: true}, TTLs: lasts(longest + 24*time.Hour)},
		bloomStep{Name: "a clock years ahead", Advance: years, Call: add("a", time.Hour), Writes: true, Want: bloom.AddResult{New: true}, TTLs: lasts(time.Hour)},
		bloomStep{Name: "and right again: the filter ends in time", Advance: -years, Call: add("a", time.Hour), Writes: true, Want: bloom.AddResult{}, TTLs: lasts(time.Hour)},
		bloomStep{Name: "a clock years back", Advance: -years, Call: add("b", time.Minute), Writes: true, Want: bloom.AddResult{New: true}, TTLs: lasts(time.Minute)},
	)
}

// filled returns the bits of a filter with n items, by the formula of bloom_bits.
func filled(n int) []byte {
	const size, hashes = 958506, 7
	bits := make([]byte, (size+7)/8)
	for i := range n {
		sum := sha1.Sum([]byte(fmt.Sprint("item ", i)))
		at := uint64(binary.BigEndian.Uint32(sum[:])) % size
		step := 1 + uint64(binary.BigEndian.Uint32(sum[4:]))%(size-1)
		for range hashes {
			bits[at/8] |= 0x80 >> (at % 8)
			at = (at + step) % size
		}
	}
	return bits
}

// At 100,000 items about 1 of 100 others is reported as known, and no item is forgotten.
func TestBloom_falseShareIsAsStated(t *testing.T) {
	bloomSuite.EachOnRealTime(t, func(t *testing.T, s *luatest.Server, client *bloom.Client) {
		s.Do(t, "SET", "bloom:{seen}:bits", filled(100_000), "EX", 60)
		known := func(name string, n int) (known int) {
			for i := range n {
				got, err := client.Contains(t.Context(), bloom.ContainsParams{Subject: "seen", Item: fmt.Sprint(name, i)})
				if err != nil {
					t.Fatal(err)
				}
				if got.Known {
					known++
				}
			}
			return known
		}
		state, err := client.Peek(t.Context(), bloom.PeekParams{Subject: "seen"})
		if err != nil {
			t.Fatal(err)
		}
		items, others := known("item ", 1000), known("other ", 5000)
		t.Logf("%d of 1,000 items and %d of 5,000 others are known; the filter states %.4f, with %d bits", items, others, state.FalseShare, state.Set)
		if items != 1000 || others < 25 || others > 75 || state.FalseShare < 0.009 || state.FalseShare > 0.011 {
			t.Errorf("%d of 1,000 items and %d of 5,000 others are known, and the filter states %v", items, others, state.FalseShare)
		}
	})
}
