package templates_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	luatest "github.com/rlfunc/rlfunc/lua_test"

	"example.com/templates/gen/leaderboard"
)

var leaderboardSuite = luatest.Suite[*leaderboard.Client]{
	Library: leaderboard.Library, Client: leaderboard.New,
	Source: os.DirFS("functions"), Root: "functions",
}

// What the headers promise holds for any sequence of calls.
func TestLeaderboard_keepsItsContract(t *testing.T) { luatest.Contract(t, leaderboardSuite) }

type leaderboardStep = luatest.Step[*leaderboard.Client]

func TestLeaderboard_keepsTheBestScores(t *testing.T) {
	const key, year = "leaderboard:{season7}:scores", 366 * 24 * time.Hour
	submit := func(player string, score float64) leaderboard.SubmitParams {
		return leaderboard.SubmitParams{Subject: "season7", Player: player, Score: score}
	}
	rank := func(player string) leaderboard.RankParams {
		return leaderboard.RankParams{Subject: "season7", Player: player}
	}
	call := (*leaderboard.Client).Submit
	brief := submit("ann", 3)
	brief.Keep = time.Minute
	leaderboardSuite.Run(
		t,
		leaderboardStep{Name: "no player", Call: luatest.Call((*leaderboard.Client).Rank, rank("ann")), Want: leaderboard.RankResult{}},
		leaderboardStep{
			Name: "first score", Call: luatest.Call(call, submit("ann", 10.5)), Writes: true, Want: leaderboard.SubmitResult{Improved: true, Rank: 1, Best: 10.5},
			TTLs: map[string]time.Duration{key: year},
		},
		leaderboardStep{Name: "a lower score", Call: luatest.Call(call, submit("ann", 3)), Want: leaderboard.SubmitResult{Rank: 1, Best: 10.5}},
		leaderboardStep{Name: "a short keep shortens nothing", Call: luatest.Call(call, brief), Want: leaderboard.SubmitResult{Rank: 1, Best: 10.5}},
		leaderboardStep{Name: "the same score", Call: luatest.Call(call, submit("ann", 10.5)), Want: leaderboard.SubmitResult{Rank: 1, Best: 10.5}},
		leaderboardStep{Name: "below 0", Call: luatest.Call(call, submit("eve", -0.25)), Writes: true, Want: leaderboard.SubmitResult{Improved: true, Rank: 2, Best: -0.25}},
		leaderboardStep{Name: "an equal score shares the rank", Call: luatest.Call(call, submit("ben", 10.5)), Writes: true, Want: leaderboard.SubmitResult{Improved: true, Rank: 1, Best: 10.5}},
		leaderboardStep{Name: "third of three", Call: luatest.Call((*leaderboard.Client).Rank, rank("eve")), Want: leaderboard.RankResult{Found: true, Rank: 3, Players: 3, Best: -0.25}},
		leaderboardStep{
			Name: "top", Call: luatest.Call((*leaderboard.Client).Top, leaderboard.TopParams{Subject: "season7"}),
			Want: leaderboard.TopResult{Players: []leaderboard.TopPlayersResult{{Player: "ben", Score: 10.5, Rank: 1}, {Player: "ann", Score: 10.5, Rank: 1}, {Player: "eve", Score: -0.25, Rank: 3}}},
		},
		leaderboardStep{
			Name: "the second page", Call: luatest.Call((*leaderboard.Client).Top, leaderboard.TopParams{Subject: "season7", Skip: 1, Most: 1}),
			Want: leaderboard.TopResult{Players: []leaderboard.TopPlayersResult{{Player: "ann", Score: 10.5, Rank: 1}}},
		},
		leaderboardStep{Name: "removed", Call: luatest.Call((*leaderboard.Client).Remove, leaderboard.RemoveParams{Subject: "season7", Player: "ann"}), Writes: true, Want: leaderboard.RemoveResult{Removed: true}},
		leaderboardStep{Name: "once", Call: luatest.Call((*leaderboard.Client).Remove, leaderboard.RemoveParams{Subject: "season7", Player: "ann"}), Want: leaderboard.RemoveResult{}},
		leaderboardStep{Name: "a page too long", Call: luatest.Call((*leaderboard.Client).Top, leaderboard.TopParams{Subject: "season7", Most: 101}), WantErr: fcall.ErrArgument},
		leaderboardStep{Name: "a score too high", Call: luatest.Call(call, submit("ann", 1e10)), WantErr: fcall.ErrArgument},
		leaderboardStep{Name: "another program's key", Given: func(t testing.TB, s *luatest.Server) { s.Do(t, "SET", key, "x", "KEEPTTL") }, Call: luatest.Call(call, submit("ann", 1)), WantErr: fcall.ErrState},
	)
}

func TestLeaderboard_boundsAndWrongClocks(t *testing.T) {
	const years, longest, key = 3649 * 24 * time.Hour, 3650 * 24 * time.Hour, "leaderboard:{season7}:scores"
	submit := func(player string, score float64, keep time.Duration) func(context.Context, *leaderboard.Client) (any, error) {
		return luatest.Call((*leaderboard.Client).Submit, leaderboard.SubmitParams{Subject: "season7", Player: player, Score: score, Keep: keep})
	}
	rank := func(player string) func(context.Context, *leaderboard.Client) (any, error) {
		return luatest.Call((*leaderboard.Client).Rank, leaderboard.RankParams{Subject: "season7", Player: player})
	}
	ann := strings.Repeat("a", 64)
	lasts := func(d time.Duration) map[string]time.Duration { return map[string]time.Duration{key: d} }
	leaderboardSuite.Run(
		t,
		leaderboardStep{Name: "a short keep", Call: submit("eve", -1e9, time.Minute), Writes: true, Want: leaderboard.SubmitResult{Improved: true, Rank: 1, Best: -1e9}, TTLs: lasts(time.Minute)},
		leaderboardStep{Name: "largest legal arguments", Call: submit(ann, 1e9, longest), Writes: true, Want: leaderboard.SubmitResult{Improved: true, Rank: 1, Best: 1e9}, TTLs: lasts(longest)},
		leaderboardStep{
			Name: "the last page", Call: luatest.Call((*leaderboard.Client).Top, leaderboard.TopParams{Subject: "season7", Skip: 100_000, Most: 100}),
			Want: leaderboard.TopResult{Players: []leaderboard.TopPlayersResult{}},
		},
		leaderboardStep{Name: "a clock years ahead", Advance: years, Call: submit("ben", 5, longest), Writes: true, Want: leaderboard.SubmitResult{Improved: true, Rank: 2, Best: 5}, TTLs: lasts(longest)},
		leaderboardStep{Name: "and right again: the board lasts longer", Advance: -years, Call: rank("ben"), Want: leaderboard.RankResult{Found: true, Rank: 2, Players: 3, Best: 5}},
		leaderboardStep{Name: "and takes scores", Call: submit("ben", 6, time.Minute), Writes: true, Want: leaderboard.SubmitResult{Improved: true, Rank: 2, Best: 6}, TTLs: lasts(longest + years)},
		leaderboardStep{Name: "a clock years back", Advance: -years, Call: rank(ann), Want: leaderboard.RankResult{Found: true, Rank: 1, Players: 3, Best: 1e9}},
	)
}

// A full board loses its worst player to a better one, and has no room for a worse one.
func TestLeaderboard_keepsTheBest100000(t *testing.T) {
	const players, key = 100_000, "leaderboard:{season7}:scores"
	leaderboardSuite.EachOnRealTime(t, func(t *testing.T, s *luatest.Server, client *leaderboard.Client) {
		for from := 0; from < players; from += 1000 {
			words := []any{"ZADD", key}
			for i := from; i < from+1000; i++ {
				words = append(words, i, fmt.Sprint("player ", i))
			}
			s.Do(t, words...)
		}
		submit := func(player string, score float64) leaderboard.SubmitResult {
			got, err := client.Submit(t.Context(), leaderboard.SubmitParams{Subject: "season7", Player: player, Score: score})
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		if got, want := submit("worse", -1), (leaderboard.SubmitResult{Improved: true, Best: -1}); got != want {
			t.Errorf("a worse player: %+v, want %+v", got, want)
		}
		if got, want := submit("better", 0.5), (leaderboard.SubmitResult{Improved: true, Rank: players, Best: 0.5}); got != want {
			t.Errorf("a better player than the worst: %+v, want %+v", got, want)
		}
		for player, want := range map[string]leaderboard.RankResult{
			"player 0": {Players: players}, "better": {Found: true, Rank: players, Players: players, Best: 0.5},
			"player 99999": {Found: true, Rank: 1, Players: players, Best: 99_999},
		} {
			got, err := client.Rank(t.Context(), leaderboard.RankParams{Subject: "season7", Player: player})
			if err != nil || got != want {
				t.Errorf("%s: %+v, %v, want %+v", player, got, err, want)
			}
		}
		t.Logf("%v bytes", s.Redis.MemoryUsage(t.Context(), key).Val())
	})
}
