package loader_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/onpath"
	"github.com/rlfunc/rlfunc/loader"
)

// An actor is a deployer that stops before each command that its client sends, until the stage lets it go on.
type actor struct {
	name   string
	client redis.UniversalClient
	at     chan string // the command that it is about to send; closed when it has ended
	goOn   chan struct{}
	result *loader.Result
	err    error
}

func (a *actor) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (a *actor) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		switch words := strings.ToUpper(cmd.FullName()); words {
		case "DISCARD", "UNWATCH", "HELLO", "CLIENT", "CLUSTER SLOTS": // sent in the background, or when a connection begins
		default:
			a.stop(words)
		}
		return next(ctx, cmd)
	}
}

func (a *actor) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if fmt.Sprint(cmds[0].Args()[0]) == "multi" {
			a.stop("transaction")
		}
		return next(ctx, cmds)
	}
}

func (a *actor) stop(words string) {
	a.at <- words
	<-a.goOn
}

// A schedule says who of those that have not ended goes on: 0 or 1, or 2 for what happens to the servers.
type schedule func(step int) int

// play lets two actors act in an order, and an event happen once.
func play(actors []*actor, pair [2]deployment, event func(), next schedule) (steps [2]int) {
	ended := [2]bool{}
	wait := func(i int) { _, more := <-actors[i].at; ended[i] = !more }
	for i, a := range actors {
		a.at, a.goOn = make(chan string), make(chan struct{})
		go func() {
			defer close(a.at)
			pair[i].run(a)
		}()
		wait(i)
	}
	for step := 0; !ended[0] || !ended[1]; step++ {
		i := next(step)
		if i == 2 {
			event()
			continue
		}
		if ended[i] {
			i = 1 - i
		}
		steps[i]++
		actors[i].goOn <- struct{}{}
		wait(i)
	}
	return steps
}

// A deployment is what an actor does: it plans and applies. want is the version that it wants on all nodes, or "".
type deployment struct {
	name string
	want string
	plan func(context.Context, *loader.Target) (*loader.Plan, error)
}

func (d deployment) run(a *actor) {
	target := loader.NewTarget(a.client).WithoutReplicas()
	p, err := d.plan(context.Background(), target)
	if err != nil {
		a.err = err
		return
	}
	if d.want == "" && !p.Changes() { // as the command says: nothing to do
		return
	}
	a.result, a.err = target.Apply(context.Background(), p, loader.ApplyOptions{By: a.name, Force: true})
}

var v11, v10 = bundle("shop", "1.1.0", "buy"), bundle("shop", "1.0.0", "buy")

func deploys(version string) deployment {
	lib := bundle("shop", version, "buy")
	return deployment{"deploy " + version, version, func(ctx context.Context, t *loader.Target) (*loader.Plan, error) { return t.Plan(ctx, lib) }}
}

var (
	rollsBack = deployment{"rollback", "1.0.0", func(ctx context.Context, t *loader.Target) (*loader.Plan, error) {
		return t.PlanRollback(ctx, "shop_v1", loader.RollbackOptions{From: v10})
	}}
	retires = deployment{"retire", "", func(ctx context.Context, t *loader.Target) (*loader.Plan, error) { return t.PlanRetire(ctx, "shop_v1") }}
)

// pairs are all that two deployers may do at once.
var pairs = [][2]deployment{
	{deploys("1.2.0"), deploys("1.3.0")},
	{deploys("1.2.0"), deploys("1.2.0")},
	{deploys("1.2.0"), rollsBack},
	{deploys("1.2.0"), retires},
	{rollsBack, rollsBack},
	{rollsBack, retires},
	{retires, retires},
}

// versions lists what the primaries hold, each version once.
func versions(t testing.TB, primaries []*redis.Client) (all []string) {
	t.Helper()
	for _, c := range primaries {
		libs, err := c.FunctionList(context.Background(), redis.FunctionListQuery{LibraryNamePattern: "shop_v1", WithCode: true}).Result()
		if err != nil {
			t.Fatal(err)
		}
		version := ""
		if len(libs) > 0 {
			_, rest, _ := strings.Cut(libs[0].Code, "version=")
			version, _, _ = strings.Cut(rest, "\n")
		}
		if !slices.Contains(all, version) {
			all = append(all, version)
		}
	}
	return all
}

// judge says what is wrong with how two deployments have ended, or "".
func judge(pair [2]deployment, actors []*actor, held []string) string {
	if len(held) != 1 {
		return fmt.Sprintf("the primaries hold %q", held)
	}
	good := false
	for i, a := range actors {
		if a.err != nil {
			if !errors.Is(a.err, loader.ErrChanged) && !errors.Is(a.err, loader.ErrUnfinished) && !errors.Is(a.err, loader.ErrNoRecord) {
				return fmt.Sprintf("%s: %v", a.name, a.err)
			}
			continue
		}
		good = true
		other := actors[1-i]
		if held[0] != pair[i].want && (other.err != nil || held[0] != pair[1-i].want) {
			return fmt.Sprintf("%s was told that all is well, and the primaries hold %q", a.name, held[0])
		}
		// Only a rollback and a retire go down.
		lower := pair[1-i].name != "rollback" && pair[1-i].name != "retire" && pair[i].name != "retire" && held[0] < pair[i].want
		if lower {
			return fmt.Sprintf("%s was replaced by a lower version", a.name)
		}
	}
	if !good {
		return fmt.Sprintf("both failed: %v; %v", actors[0].err, actors[1].err)
	}
	return ""
}

// A stage is a target for many plays.
type stage struct {
	primaries []*redis.Client
	connect   func(name string, hook redis.Hook) redis.UniversalClient
	actors    map[[2]string][]*actor // by the names of their clients; connecting takes most of the time
}

// reset makes the primaries hold 1.1.0, but with odd the last one 1.0.0, as after a deploy that did not reach it.
func (s stage) reset(t testing.TB, odd bool) {
	t.Helper()
	for i, c := range s.primaries {
		lib := v11
		if odd && i == len(s.primaries)-1 {
			lib = v10
		}
		must(t, errors.Join(c.FlushAll(context.Background()).Err(), c.FunctionLoadReplace(context.Background(), lib.Code).Err()))
	}
}

func (s stage) play(t testing.TB, pair [2]deployment, names [2]string, event func(), next schedule) (steps [2]int, wrong string) {
	t.Helper()
	actors := s.actors[names]
	if actors == nil {
		for _, name := range names {
			a := &actor{}
			a.client = s.connect(name, a)
			t.Cleanup(func() { a.client.Close() })
			actors = append(actors, a)
		}
		s.actors[names] = actors
	}
	for i, d := range pair {
		actors[i].name, actors[i].result, actors[i].err = d.name, nil, nil
	}
	steps = play(actors, pair, event, next)
	return steps, judge(pair, actors, versions(t, s.primaries))
}

// embeddedStage has n primaries in this process.
func embeddedStage(t testing.TB, n int) stage {
	t.Helper()
	admins, slots := primaries(t, n)
	return stage{primaries: admins, actors: map[[2]string][]*actor{}, connect: func(name string, hook redis.Hook) redis.UniversalClient {
		if n > 1 {
			return withSlots(slots, name, func(string) redis.Hook { return hook })
		}
		c := redis.NewClient(&redis.Options{Addr: slots[0].Nodes[0].Addr, ClientName: name, MaxRetries: -1, DisableIdentity: true})
		c.AddHook(hook)
		return c
	}}
}

var forward = [2]string{loader.OneByOne, loader.OneByOne}

// On one primary, each deployer stops once, before each of its commands, and the other one stops before each of its own meanwhile.
func TestInterleaving_onePrimary(t *testing.T) {
	s := embeddedStage(t, 1)
	stride := 1
	if testing.Short() || onpath.Raced() { // all plays take a minute, and five under the race detector
		stride = 4
	}
	for _, pair := range pairs {
		for _, pair := range [][2]deployment{pair, {pair[1], pair[0]}} {
			plays := 0
			for i, most := 0, 1; i <= most; i += stride {
				for j, longest := 1, 1; j <= longest; j += stride {
					s.reset(t, false)
					steps, wrong := s.play(t, pair, forward, nil, func(step int) int {
						if step >= i && step < i+j {
							return 1
						}
						return 0
					})
					plays++
					most, longest = max(most, steps[0]), max(longest, steps[1])
					if wrong != "" {
						t.Errorf("%s stopped before command %d while %s made %d: %s", pair[0].name, i, pair[1].name, j, wrong)
					}
				}
			}
			t.Logf("%s and %s: %d plays", pair[0].name, pair[1].name, plays)
		}
	}
}

// On three primaries, which each visits in an order of its own, the deployers stop and go on at random.
func TestInterleaving_threePrimaries(t *testing.T) {
	s := embeddedStage(t, 3)
	for _, pair := range pairs {
		for seed := range uint64(100) {
			random := rand.New(rand.NewPCG(seed, 7))
			names := forward
			if seed%2 == 1 {
				names[1] = loader.InReverse
			}
			s.reset(t, seed%4 > 1)
			who, left := 0, 0
			_, wrong := s.play(t, pair, names, nil, func(int) int {
				if left--; left <= 0 { // a turn of 1 to 40 commands, so that deployers also get far
					who, left = random.IntN(2), 1+random.IntN(1+random.IntN(40))
				}
				return who
			})
			if wrong != "" {
				t.Errorf("%s and %s, seed %d: %s", pair[0].name, pair[1].name, seed, wrong)
			}
		}
	}
}
