package steps_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

func TestChallenge_unreadableIsReportedAndKept(t *testing.T) {
	const us = "1767323045678901" // the start of the test
	const later = "1767323345678901"
	const number = "0000000000001 64"
	var steps []challengeStep
	for _, text := range []string{
		"", "x", "open", "open " + us, "open " + later + " " + us, "open " + later + " " + us + " " + number, "Open " + later + " " + us + " " + number + " ",
		"gone " + later + " " + us + " " + number + " ", "open              nan " + us + " " + number + " ", "open " + later + "              inf " + number + " ",
		"open 9999999999999999 " + us + " " + number + " ", "used " + later + " " + strings.Repeat("x", 16) + " " + number + " ", strings.Repeat("x", 100),
	} {
		given := func(t testing.TB, s *luatest.Server) {
			s.Do(t, "HSET", challengeKey("u1"), "a", text)
			s.Expire(t, challengeKey("u1"), time.Hour)
		}
		steps = append(
			steps,
			challengeStep{Name: text, Given: given, Call: consume("a", ""), WantErr: fcall.ErrState},
			challengeStep{Call: peekAt("a"), WantErr: fcall.ErrState},
			challengeStep{Call: issue(issueParams{Token: "b", TTL: time.Minute}), WantErr: fcall.ErrState},
		)
	}
	challenges.Run(t, append(
		steps,
		challengeStep{Name: "what is right is read", Given: func(t testing.TB, s *luatest.Server) {
			s.Do(t, "HSET", challengeKey("u1"), "a", "open "+later+" "+us+" "+number+" login")
		}, Call: consume("a", "login"), Writes: true, Want: consumed},
		challengeStep{Call: consume("a", "login"), Want: replayed},
		challengeStep{Name: "challenges that never expire get an expiry from the next", Given: func(t testing.TB, s *luatest.Server) {
			s.Do(t, "PERSIST", challengeKey("u1"))
		}, Call: issue(issueParams{Token: "b", TTL: time.Minute}), Writes: true, TTLs: ttls{challengeKey("u1"): 5 * time.Minute}, Want: issued("b", time.Minute, 1)},
	)...)
}
