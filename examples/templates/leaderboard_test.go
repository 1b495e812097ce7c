package templates_test

import (
	"os"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	luatest "github.com/rlfunc/rlfunc/lua_test"

	"github.com/rlfunc/rlfunc/examples/templates/gen/leaderboard"
)

var leaderboardSuite = luatest.Suite[*leaderboard.Client]{
	Library: leaderboard.Library, Client: leaderboard.New,
	Source: os.DirFS("functions"), Root: "functions",
}

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
