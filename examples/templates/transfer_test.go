package templates_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	luatest "github.com/rlfunc/rlfunc/lua_test"

	"github.com/rlfunc/rlfunc/examples/templates/gen/transfer"
)

var transferSuite = luatest.Suite[*transfer.Client]{
	Library: transfer.Library, Client: transfer.New,
	Source: os.DirFS("functions"), Root: "functions",
}

// What the headers promise holds for any sequence of calls.
func TestTransfer_keepsItsContract(t *testing.T) { luatest.Contract(t, transferSuite) }

type (
	transferStep = luatest.Step[*transfer.Client]
	transferCall = func(context.Context, *transfer.Client) (any, error)
)

func move(payer, payee, id string, units int64) transferCall {
	return luatest.Call((*transfer.Client).Move, transfer.MoveParams{Subject: "north", Payer: payer, Payee: payee, ID: id, Units: units})
}

func deposit(account, id string, units int64) transferCall {
	return luatest.Call((*transfer.Client).Deposit, transfer.DepositParams{Subject: "north", AccountID: account, ID: id, Units: units})
}

func balance(account string) transferCall {
	return luatest.Call((*transfer.Client).Peek, transfer.PeekParams{Subject: "north", AccountID: account})
}

const (
	moved    = transfer.MoveOutcomeMoved
	annKey   = "transfer:{north}:account:ann"
	bobKey   = "transfer:{north}:account:bob"
	firstKey = "transfer:{north}:done:d1"
)

func TestTransfer_movesUnitsOnce(t *testing.T) {
	transferSuite.Run(
		t,
		transferStep{Name: "no units", Call: move("ann", "bob", "t1", 1), Want: transfer.MoveResult{Outcome: transfer.MoveOutcomeShort}},
		transferStep{
			Name: "a deposit", Call: deposit("ann", "d1", 100), Writes: true, Want: transfer.DepositResult{Allowed: true, Left: 100},
			TTLs: map[string]time.Duration{annKey: luatest.Immortal, firstKey: 24 * time.Hour},
		},
		transferStep{Name: "repeated", Call: deposit("ann", "d1", 100), Want: transfer.DepositResult{Allowed: true, Left: 100}},
		transferStep{
			Name: "a transfer", Call: move("ann", "bob", "t1", 30), Writes: true, Want: transfer.MoveResult{Outcome: moved, Left: 70},
			TTLs: map[string]time.Duration{annKey: luatest.Immortal, bobKey: luatest.Immortal, firstKey: 24 * time.Hour, "transfer:{north}:done:t1": 24 * time.Hour},
		},
		transferStep{Name: "repeated", Advance: 23 * time.Hour, Call: move("ann", "bob", "t1", 30), Want: transfer.MoveResult{Outcome: moved, Left: 70}},
		transferStep{Name: "the id with other units", Call: move("ann", "bob", "t1", 31), WantErr: fcall.ErrArgument},
		transferStep{Name: "the id of a deposit", Call: move("ann", "bob", "d1", 100), WantErr: fcall.ErrArgument},
		transferStep{Name: "to itself", Call: move("ann", "ann", "t2", 1), WantErr: fcall.ErrArgument},
		transferStep{Name: "one too many", Call: move("ann", "bob", "t2", 71), Want: transfer.MoveResult{Outcome: transfer.MoveOutcomeShort, Left: 70}},
		transferStep{Name: "all", Call: move("ann", "bob", "t2", 70), Writes: true, Want: transfer.MoveResult{Outcome: moved}},
		transferStep{Name: "a payout", Call: deposit("bob", "d2", -100), Writes: true, Want: transfer.DepositResult{Allowed: true}},
		transferStep{Name: "a payout of nothing", Call: deposit("bob", "d3", -1), Want: transfer.DepositResult{}},
		transferStep{Name: "no units to move", Call: move("ann", "bob", "t3", 0), WantErr: fcall.ErrArgument},
	)
}

func TestTransfer_boundsAndWrongClocks(t *testing.T) {
	const years, most, day = 10 * 365 * 24 * time.Hour, 1_000_000_000, 24 * time.Hour
	ann, bob, id := strings.Repeat("a", 64), strings.Repeat("b", 64), strings.Repeat("i", 64)
	transferSuite.Run(
		t,
		transferStep{Name: "largest legal arguments", Call: deposit(ann, id, most), Writes: true, Want: transfer.DepositResult{Allowed: true, Left: most}},
		transferStep{Name: "the largest transfer", Call: move(ann, bob, "t1", most), Writes: true, Want: transfer.MoveResult{Outcome: moved}},
		transferStep{Name: "the largest payout", Call: deposit(bob, "d1", -most), Writes: true, Want: transfer.DepositResult{Allowed: true}},
		transferStep{Name: "one more unit", Call: deposit(ann, "d2", most+1), WantErr: fcall.ErrArgument},
		transferStep{Name: "a clock years ahead", Advance: years, Call: deposit("ann", "d3", 5), Writes: true, Want: transfer.DepositResult{Allowed: true, Left: 5}},
		transferStep{Name: "and right again: the id is known, and for longer", Advance: -years, Call: deposit("ann", "d3", 5), Want: transfer.DepositResult{Allowed: true, Left: 5}},
		transferStep{Name: "other ids have their day", Call: move("ann", "bob", "t2", 2), Writes: true, Want: transfer.MoveResult{Outcome: moved, Left: 3}},
		transferStep{Name: "a clock years back", Advance: -years, Call: move("ann", "bob", "t2", 2), Want: transfer.MoveResult{Outcome: moved, Left: 3}},
		transferStep{Name: "balances do not depend on it", Call: balance("bob"), Want: transfer.PeekResult{Left: 2}},
		transferStep{Name: "days after", Advance: years + 2*day, Call: deposit("ann", "d3", 5), Want: transfer.DepositResult{Allowed: true, Left: 3}},
	)
}

func TestTransfer_balancesLast(t *testing.T) {
	transferSuite.Run(
		t,
		transferStep{Call: deposit("ann {x}", "d1", 5), Writes: true, Want: transfer.DepositResult{Allowed: true, Left: 5}},
		transferStep{Name: "a century later", Advance: 100 * 365 * 24 * time.Hour, Call: balance("ann {x}"), Want: transfer.PeekResult{Left: 5}},
		transferStep{Name: "an unknown account", Call: balance("bob"), Want: transfer.PeekResult{}},
		transferStep{
			Name: "a full account", Given: func(t testing.TB, s *luatest.Server) { s.Do(t, "SET", bobKey, "1000000000000000") },
			Call: move("ann {x}", "bob", "t1", 1), Want: transfer.MoveResult{Outcome: transfer.MoveOutcomeFull, Left: 5},
		},
		transferStep{
			Name: "another program's key", Given: func(t testing.TB, s *luatest.Server) { s.Do(t, "SET", bobKey, "many") },
			Call: move("ann {x}", "bob", "t1", 1), WantErr: fcall.ErrState,
		},
	)
}

// Transfers in both directions at once neither lose nor make a unit.
func TestTransfer_unitsStayInTheSum(t *testing.T) {
	transferSuite.EachOnRealTime(t, func(t *testing.T, _ *luatest.Server, client *transfer.Client) {
		names := []string{"ann", "bob", "eve"}
		call := func(c transferCall) any {
			got, err := c(t.Context(), client)
			if err != nil {
				t.Error(err)
			}
			return got
		}
		for _, name := range names {
			call(deposit(name, "start "+name, 10))
		}
		var wait sync.WaitGroup
		for i := range 60 {
			wait.Go(func() { call(move(names[i%3], names[(i+1+i/30)%3], fmt.Sprint("t", i), int64(1+i%7))) })
		}
		wait.Wait()
		sum := int64(0)
		for _, name := range names {
			if got, ok := call(balance(name)).(transfer.PeekResult); ok {
				sum += got.Left
			}
		}
		if sum != 30 {
			t.Errorf("%d units, want 30", sum)
		}
	})
}
