package templates_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	luatest "github.com/rlfunc/rlfunc/lua_test"

	"example.com/templates/gen/inventory"
)

var inventorySuite = luatest.Suite[*inventory.Client]{
	Library: inventory.Library, Client: inventory.New,
	Source: os.DirFS("functions"), Root: "functions",
}

// What the headers promise holds for any sequence of calls.
func TestInventory_keepsItsContract(t *testing.T) { luatest.Contract(t, inventorySuite) }

type (
	inventoryStep = luatest.Step[*inventory.Client]
	inventoryCall = func(context.Context, *inventory.Client) (any, error)
)

func reserve(id string, units int64) inventoryCall {
	return luatest.Call((*inventory.Client).Reserve, inventory.ReserveParams{Subject: "item7", ID: id, Units: units, Hold: 10 * time.Minute})
}

func confirm(id string) inventoryCall {
	return luatest.Call((*inventory.Client).Confirm, inventory.ConfirmParams{Subject: "item7", ID: id})
}

func release(id string) inventoryCall {
	return luatest.Call((*inventory.Client).Release, inventory.ReleaseParams{Subject: "item7", ID: id})
}

func restock(units int64) inventoryCall {
	return luatest.Call((*inventory.Client).Restock, inventory.RestockParams{Subject: "item7", Units: units})
}

var stock = luatest.Call((*inventory.Client).Peek, inventory.PeekParams{Subject: "item7"})

const (
	reserved    = inventory.ReserveOutcomeReserved
	busy        = inventory.ReserveOutcomeBusy
	soldOut     = inventory.ReserveOutcomeSoldOut
	hold        = 10 * time.Minute
	stockKey    = "inventory:{item7}:stock"
	endsKey     = "inventory:{item7}:ends"
	soldKey     = "inventory:{item7}:sold"
	notReserved = inventory.ConfirmOutcomeNotReserved
)

func TestInventory_reservesThenSellsOrGivesBack(t *testing.T) {
	inventorySuite.Run(
		t,
		inventoryStep{Name: "no stock", Call: reserve("o1", 1), Want: inventory.ReserveResult{Outcome: soldOut}},
		inventoryStep{Name: "a delivery", Call: restock(10), Writes: true, Want: inventory.RestockResult{Allowed: true, OnHand: 10, Available: 10}},
		inventoryStep{Name: "first reservation", Call: reserve("o1", 4), Writes: true, Want: inventory.ReserveResult{Outcome: reserved, Available: 6, ExpiresAfter: hold}},
		inventoryStep{Name: "repeated", Advance: time.Minute, Call: reserve("o1", 4), Want: inventory.ReserveResult{Outcome: reserved, Available: 6, ExpiresAfter: 9 * time.Minute}},
		inventoryStep{Name: "repeated with other units", Call: reserve("o1", 5), WantErr: fcall.ErrArgument},
		inventoryStep{Name: "one too many", Call: reserve("o2", 7), Want: inventory.ReserveResult{Outcome: busy, Available: 6, RetryAfter: 9 * time.Minute}},
		inventoryStep{Name: "more than are on hand", Call: reserve("o2", 11), Want: inventory.ReserveResult{Outcome: soldOut, Available: 6}},
		inventoryStep{Name: "exactly what is left", Call: reserve("o2", 6), Writes: true, Want: inventory.ReserveResult{Outcome: reserved, ExpiresAfter: hold}},
		inventoryStep{Name: "reserved units cannot be taken away", Call: restock(-1), Want: inventory.RestockResult{OnHand: 10}},
		inventoryStep{
			Name: "sold", Call: confirm("o1"), Writes: true, Want: inventory.ConfirmResult{Outcome: inventory.ConfirmOutcomeConfirmed, OnHand: 6},
			TTLs: map[string]time.Duration{stockKey: luatest.Immortal, endsKey: luatest.Immortal, soldKey: 24 * time.Hour},
		},
		inventoryStep{Name: "once", Call: confirm("o1"), Want: inventory.ConfirmResult{Outcome: inventory.ConfirmOutcomeConfirmed, OnHand: 6}},
		inventoryStep{Name: "a late repeat reserves nothing", Call: reserve("o1", 4), Want: inventory.ReserveResult{Outcome: inventory.ReserveOutcomeConfirmed}},
		inventoryStep{Name: "sold units are not given back", Call: release("o1"), Want: inventory.ReleaseResult{}},
		inventoryStep{Name: "given back", Call: release("o2"), Writes: true, Want: inventory.ReleaseResult{Released: true, Available: 6}},
		inventoryStep{Name: "once", Call: release("o2"), Want: inventory.ReleaseResult{Available: 6}},
		inventoryStep{Name: "nothing to sell", Call: confirm("o2"), Want: inventory.ConfirmResult{Outcome: notReserved, OnHand: 6}},
		inventoryStep{Name: "a broken unit", Call: restock(-1), Writes: true, Want: inventory.RestockResult{Allowed: true, OnHand: 5, Available: 5}},
		inventoryStep{Name: "a century later", Advance: 100 * 365 * 24 * time.Hour, Call: stock, Want: inventory.PeekResult{OnHand: 5, Available: 5}},
		inventoryStep{Name: "no units", Call: reserve("o3", 0), WantErr: fcall.ErrArgument},
		inventoryStep{Name: "too many units", Call: restock(1_000_001), WantErr: fcall.ErrArgument},
	)
}

func TestInventory_reservationsEnd(t *testing.T) {
	inventorySuite.Run(
		t,
		inventoryStep{Call: restock(2), Writes: true, Want: inventory.RestockResult{Allowed: true, OnHand: 2, Available: 2}},
		inventoryStep{Call: reserve("o1", 2), Writes: true, Want: inventory.ReserveResult{Outcome: reserved, ExpiresAfter: hold}},
		inventoryStep{Name: "a microsecond before the end", Advance: hold - time.Microsecond, Call: reserve("o2", 1), Want: inventory.ReserveResult{Outcome: busy, RetryAfter: time.Millisecond}},
		inventoryStep{Name: "at the end", Advance: time.Microsecond, Call: stock, Want: inventory.PeekResult{OnHand: 2, Available: 2}},
		inventoryStep{Name: "too late to sell", Call: confirm("o1"), Want: inventory.ConfirmResult{Outcome: notReserved, OnHand: 2}},
		inventoryStep{Name: "a refused call may remove what has ended", Call: reserve("o2", 3), Writes: true, Want: inventory.ReserveResult{Outcome: soldOut, Available: 2}},
		inventoryStep{Name: "the same id again", Call: reserve("o1", 1), Writes: true, Want: inventory.ReserveResult{Outcome: reserved, Available: 1, ExpiresAfter: hold}},
		inventoryStep{Name: "a clock that was set back", Advance: -time.Hour, Call: stock, Want: inventory.PeekResult{OnHand: 2, Reserved: 1, Available: 1}},
		inventoryStep{
			Name: "another program's key", Given: func(t testing.TB, s *luatest.Server) { s.Do(t, "HSET", stockKey, "on_hand", "many") },
			Call: reserve("o3", 1), WantErr: fcall.ErrState,
		},
	)
}

func TestInventory_boundsAndWrongClocks(t *testing.T) {
	const years, day = 10 * 365 * 24 * time.Hour, 24 * time.Hour
	most := luatest.Call((*inventory.Client).Reserve, inventory.ReserveParams{Subject: "item7", ID: strings.Repeat("o", 64), Units: 1_000_000, Hold: 30 * day})
	inventorySuite.Run(
		t,
		inventoryStep{Name: "the largest delivery", Call: restock(1_000_000), Writes: true, Want: inventory.RestockResult{Allowed: true, OnHand: 1_000_000, Available: 1_000_000}},
		inventoryStep{Name: "largest legal arguments", Call: most, Writes: true, Want: inventory.ReserveResult{Outcome: reserved, ExpiresAfter: 30 * day}},
		inventoryStep{Name: "a clock years ahead", Advance: years, Call: reserve("o1", 999_999), Writes: true, Want: inventory.ReserveResult{Outcome: reserved, Available: 1, ExpiresAfter: hold}},
		inventoryStep{Name: "sold years ahead", Call: confirm("o1"), Writes: true, Want: inventory.ConfirmResult{Outcome: inventory.ConfirmOutcomeConfirmed, OnHand: 1}},
		inventoryStep{Name: "reserved years ahead", Call: reserve("o2", 1), Writes: true, Want: inventory.ReserveResult{Outcome: reserved, ExpiresAfter: hold}},
		inventoryStep{Name: "and right again: its reservation holds no unit", Advance: -years, Call: stock, Want: inventory.PeekResult{OnHand: 1, Available: 1}},
		inventoryStep{Name: "it cannot be sold", Call: confirm("o2"), Want: inventory.ConfirmResult{Outcome: notReserved, OnHand: 1}},
		inventoryStep{Name: "another can", Call: reserve("o3", 1), Writes: true, Want: inventory.ReserveResult{Outcome: reserved, ExpiresAfter: hold}},
		inventoryStep{
			Name: "sold ids are kept for a day", Call: confirm("o3"), Writes: true, Want: inventory.ConfirmResult{Outcome: inventory.ConfirmOutcomeConfirmed},
			TTLs: map[string]time.Duration{stockKey: luatest.Immortal, soldKey: day},
		},
		inventoryStep{Name: "a delivery", Call: restock(1), Writes: true, Want: inventory.RestockResult{Allowed: true, OnHand: 1, Available: 1}},
		inventoryStep{Name: "reserved", Call: reserve("o4", 1), Writes: true, Want: inventory.ReserveResult{Outcome: reserved, ExpiresAfter: hold}},
		inventoryStep{Name: "a clock years back", Advance: -years, Call: reserve("o5", 1), Writes: true, Want: inventory.ReserveResult{Outcome: reserved, ExpiresAfter: hold}},
		inventoryStep{
			Name: "full", Given: func(t testing.TB, s *luatest.Server) { s.Do(t, "HSET", stockKey, "on_hand", "1000000000") },
			Call: restock(1), WantErr: fcall.ErrArgument,
		},
	)
}

// However many have ended, each call has bounded work, and units come back.
func TestInventory_manyReservationsEndAtOnce(t *testing.T) {
	const all = 1200
	inventorySuite.Each(t, func(t *testing.T, s *luatest.Server, client *inventory.Client) {
		call := func(c inventoryCall) any {
			t.Helper()
			got, err := c(t.Context(), client)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		call(restock(all))
		for i := range all {
			call(reserve(fmt.Sprint("o", i), 1))
		}
		s.Advance(t, hold)
		for _, want := range []inventory.ReserveResult{
			{Outcome: busy, Available: 500, RetryAfter: time.Millisecond},
			{Outcome: busy, Available: 1000, RetryAfter: time.Millisecond},
			{Outcome: reserved, ExpiresAfter: hold},
		} {
			if got := call(reserve("new", all)); got != want {
				t.Fatalf("got %+v, want %+v", got, want)
			}
		}
	})
}

func TestInventory_lastUnitGoesToOneOfMany(t *testing.T) {
	inventorySuite.EachOnRealTime(t, func(t *testing.T, _ *luatest.Server, client *inventory.Client) {
		if _, err := restock(1)(t.Context(), client); err != nil {
			t.Fatal(err)
		}
		var got atomic.Int64
		var wait sync.WaitGroup
		for i := range 20 {
			wait.Go(func() {
				answer, err := reserve(fmt.Sprint("o", i), 1)(t.Context(), client)
				if err != nil {
					t.Error(err)
				} else if answer.(inventory.ReserveResult).Outcome == reserved {
					got.Add(1)
				}
			})
		}
		wait.Wait()
		if got.Load() != 1 {
			t.Errorf("%d reservations of one unit", got.Load())
		}
	})
}
