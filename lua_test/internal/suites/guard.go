package suites

import (
	"errors"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/functions"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/gen/guard"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// Guarded are the clients that act on the state of one subject that guard protects.
type Guarded struct {
	Guard      *guard.Client
	Cost       *cost.Client
	Abuse      *abuse.Client
	Challenges *challenge.Client
}

// Guards is the suite of library guard, with the libraries whose keys it shares.
var Guards = luatest.Suite[Guarded]{
	Library:        guard.Library,
	ExtraLibraries: []*fcall.Library{cost.Library, abuse.Library, challenge.Library},
	Client:         newGuarded,
	Source:         functions.FS,
	Root:           functions.Root,
	Engines:        Everywhere,
	Scripts:        Somewhere,
	Parallel:       true,
}

func newGuarded(server fcall.Caller, o fcall.Options) (g Guarded, err error) {
	o.Namespace = "guard"
	var errs [4]error
	g.Guard, errs[0] = guard.New(server, o)
	g.Cost, errs[1] = cost.New(server, o)
	g.Abuse, errs[2] = abuse.New(server, o)
	g.Challenges, errs[3] = challenge.New(server, o)
	return g, errors.Join(errs[:]...)
}

// GuardOf, CostOf, AbuseOf and ChallengesOf return one of the clients.
func GuardOf(g Guarded) *guard.Client          { return g.Guard }
func CostOf(g Guarded) *cost.Client            { return g.Cost }
func AbuseOf(g Guarded) *abuse.Client          { return g.Abuse }
func ChallengesOf(g Guarded) *challenge.Client { return g.Challenges }
