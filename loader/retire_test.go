package loader_test

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/loader"
)

// announce announces a client once, without a later sign-off.
func announce(t *testing.T, client fcall.Caller, lib *fcall.Library, instance string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	once := &signed{Caller: client, after: cancel}
	go func() {
		defer close(done)
		loader.Announce(ctx, once, lib, loader.AnnounceOptions{Instance: instance, OnError: func(err error) { t.Error(err) }})
	}()
	<-done
}

// signed returns a client whose process dies after its first announcement. Later commands are lost.
type signed struct {
	fcall.Caller
	after func()
	dead  bool
}

func (s *signed) Process(ctx context.Context, cmd redis.Cmder) error {
	if s.dead {
		return context.Canceled
	}
	err := s.Caller.Process(ctx, cmd)
	if cmd.Args()[0] == "EXPIRE" {
		s.dead = true
		s.after()
	}
	return err
}

func TestRetire_refusesWhileInUse(t *testing.T) {
	lib, next := bundle("shop", "1.1.0", "buy"), bundle("other", "1.0.0", "look")
	onEngines(t, func(t *testing.T, e engines.Engine, client *redis.Client) {
		target := loader.NewTarget(client)
		deploy(t, client, "anna", lib)
		deploy(t, client, "anna", next)
		announce(t, client, lib, "pod-a 1")
		announce(t, client, bundle("shop", "1.0.0", "buy"), "pod-b")
		announce(t, client, next, "pod-c")
		p, err := target.PlanRetire(t.Context(), "shop_v1")
		if err != nil {
			t.Fatal(err)
		}
		clients := []loader.Client{
			{Library: "shop_v1", Version: "1.0.0", Service: "loader.test", Language: "go", Instance: "pod-b"},
			{Library: "shop_v1", Version: "1.1.0", Service: "loader.test", Language: "go", Instance: "pod-a_1"},
		}
		unseen := cmpopts.IgnoreFields(loader.Client{}, "Since", "Seen")
		if diff := cmp.Diff(clients, p.Clients, unseen); diff != "" {
			t.Errorf("clients (-want +got):\n%s", diff)
		}
		_, err = target.Apply(t.Context(), p, loader.ApplyOptions{})
		says(t, err, loader.ErrInUse, "retire shop_v1: 2 clients of it were seen in the last 15 minutes, the last one loader.test on pod-", "nothing was deleted")
		equal(t, "code", lib.Code, held(t, client, "shop_v1"))

		r, err := target.Apply(t.Context(), p, loader.ApplyOptions{Force: true, Lock: loader.LockOptions{By: "nora"}})
		equal(t, "error and outcome", []any{nil, []string{"shop_v1 deleted"}}, []any{err, outcomes(r)})
		equal(t, "code", "", held(t, client, "shop_v1"))
		equal(t, "the other", next.Code, held(t, client, "other_v1"))
		forced := history(t, client)[0]
		equal(t, "forced", []string{"loader.test on pod-b (go, 1.0.0)", "loader.test on pod-a_1 (go, 1.1.0)"}, forced.Forced)

		// Again: there is nothing to do. And what was retired comes back from its record.
		r, err = target.Apply(t.Context(), p, loader.ApplyOptions{})
		equal(t, "error and outcome", []any{nil, []string{"shop_v1 already_missing"}}, []any{err, outcomes(r)})
		_, err = target.PlanRollback(t.Context(), "shop_v1", loader.RollbackOptions{})
		says(t, err, loader.ErrNoRecord, "no node holds it", "recorded: 1.1.0", "--to")
		equal(t, "steps", []string{"load 1.1.0"}, rollback(t, client, loader.RollbackOptions{To: "1.1.0"}))
		equal(t, "code", lib.Code, held(t, client, "shop_v1"))
		equal(t, "history", []string{
			"deploy by anna done: shop_v1 >1.1.0 loaded",
			"deploy by anna done: other_v1 >1.0.0 loaded",
			"retire by nora done: shop_v1 1.1.0> deleted",
			"rollback by nora done: shop_v1 >1.1.0 loaded",
		}, story(t, client))
	})
}

func TestRetire_announcementsExpire(t *testing.T) {
	lib := bundle("shop", "1.1.0", "buy")
	clock := embedded.NewManualClock(engines.Start)
	s := embedded.New(embedded.Options{Clock: clock})
	defer s.Close()
	client := s.Client()
	defer client.Close()
	target := loader.NewTarget(client)
	deploy(t, client, "anna", lib)
	announce(t, client, lib, "pod-a")
	seen := func() (fresh, day int) {
		p, err := target.PlanRetire(t.Context(), "shop_v1")
		if err != nil {
			t.Fatal(err)
		}
		all, err := target.Clients(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(p.Clients), len(all)
	}
	for _, step := range []struct {
		advance  string
		fresh, a int
	}{{"0s", 1, 1}, {"15m", 1, 1}, {"1ms", 0, 1}, {"23h45m", 0, 0}} {
		clock.Advance(duration(t, step.advance))
		fresh, day := seen()
		equal(t, "clients of 15 minutes and of a day, "+step.advance+" later", []int{step.fresh, step.a}, []int{fresh, day})
	}
	equal(t, "key", int64(0), client.Exists(t.Context(), "rlfunc:{deploy}:clients").Val())
}

func TestRetire_keepsForeignLibraries(t *testing.T) {
	foreign := &fcall.Library{ServerName: "legacy_v1", Code: "#!lua name=legacy_v1\nredis.register_function('legacy', function() return 1 end)"}
	pretender := edited(bundle("shop", "1.0.0", "buy"), "name=shop_v1", "name=legacy_v1")
	onEngines(t, func(t *testing.T, e engines.Engine, _ *redis.Client) {
		for name, lib := range map[string]*fcall.Library{"without metadata": foreign, "with the metadata of another library": pretender} {
			t.Run(name, func(t *testing.T) {
				client := e.Client(t)
				put(t, client, lib.Code)
				target := loader.NewTarget(client)
				p, err := target.PlanRetire(t.Context(), "legacy_v1")
				if err != nil {
					t.Fatal(err)
				}
				equal(t, "action", "conflict", string(p.Nodes[0].Steps[0].Action))
				_, err = target.Apply(t.Context(), p, loader.ApplyOptions{Force: true})
				says(t, err, loader.ErrConflict, "retire legacy_v1 on "+e.Addr, "was not generated by rlfunc", "nothing was deleted")
				equal(t, "code", lib.Code, held(t, client, "legacy_v1"))
			})
		}
		// Nor what took the place of ours: between the plan and the retire, and at the last moment.
		ours := bundle("shop", "1.0.0", "buy")
		foreign := &fcall.Library{ServerName: "shop_v1", Code: "#!lua name=shop_v1\nredis.register_function('shop_v1_buy', function() return 1 end)"}
		for name, moment := range map[string][]string{"before it looks again": atLock} {
			t.Run("that came "+name, func(t *testing.T) {
				client := e.Client(t)
				put(t, client, ours.Code)
				slow := interrupted(t, e, func() { put(t, client, foreign.Code) }, moment...)
				p, err := loader.NewTarget(client).PlanRetire(t.Context(), "shop_v1")
				if err != nil {
					t.Fatal(err)
				}
				_, err = loader.NewTarget(slow).Apply(t.Context(), p, loader.ApplyOptions{Force: true})
				says(t, err, loader.ErrChanged, "retire shop_v1 on "+e.Addr, "another tool changed it meanwhile")
				equal(t, "code", foreign.Code, held(t, client, "shop_v1"))
			})
		}
		t.Run("that came after the plan", func(t *testing.T) {
			client := e.Client(t)
			put(t, client, ours.Code)
			target := loader.NewTarget(client)
			p, err := target.PlanRetire(t.Context(), "shop_v1")
			if err != nil {
				t.Fatal(err)
			}
			newer := bundle("shop", "1.1.0", "buy")
			put(t, client, newer.Code)
			_, err = target.Apply(t.Context(), p, loader.ApplyOptions{Force: true})
			says(t, err, loader.ErrChanged, "shop_v1 on "+e.Addr+" was planned as delete 1.0.0 and is now delete 1.1.0", "nothing was deleted")
			equal(t, "code", newer.Code, held(t, client, "shop_v1"))
		})
	})
}

func TestRetire_rejectsInvalidName(t *testing.T) {
	for _, name := range []string{"", "shop*", "shop v1", "*"} {
		_, err := loader.NewTarget(embedded.New(embedded.Options{})).PlanRetire(t.Context(), name)
		says(t, err, loader.ErrLibrary, "invalid library name")
	}
}

func TestAnnounce_deletesItsRecordAtTheEnd(t *testing.T) {
	lib := bundle("shop", "1.0.0", "buy")
	onEngines(t, func(t *testing.T, e engines.Engine, client *redis.Client) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		given := make(chan struct{})
		watched := e.Connect(t, nil)
		watched.AddHook(&between{words: []string{"EXPIRE"}, run: func() { close(given) }})
		go func() {
			defer close(done)
			loader.Announce(ctx, watched, lib, loader.AnnounceOptions{})
		}()
		<-given
		clients, err := loader.NewTarget(client).Clients(t.Context())
		if err != nil || len(clients) != 1 || clients[0].Library != "shop_v1" || clients[0].Instance == "" {
			t.Errorf("clients %+v, %v", clients, err)
		}
		cancel()
		<-done
		clients, err = loader.NewTarget(client).Clients(t.Context())
		equal(t, "clients after the end", []any{0, nil}, []any{len(clients), err})
	})
}

// More announcements than a page, many of one millisecond, and more than are kept.
func TestAnnounce_listsManyAndKeepsTheNewest(t *testing.T) {
	lib := bundle("shop", "1.0.0", "buy")
	onEngines(t, func(t *testing.T, e engines.Engine, client *redis.Client) {
		const key, kept = "rlfunc:{deploy}:clients", 50_000
		now := client.Time(t.Context()).Val()
		var many []redis.Z
		for i := range kept + 10 {
			many = append(many, redis.Z{Score: float64(now.UnixMilli() - int64((i+2500)/3000)), Member: "shop_v1@1.0.0 old python 1763706867123 pod-" + strconv.Itoa(i)})
		}
		old := redis.Z{Score: float64(now.Add(-25 * time.Hour).UnixMilli()), Member: "shop_v1@1.0.0 older python 1763706867123 pod"}
		if err := client.ZAdd(t.Context(), key, append(many, old)...).Err(); err != nil {
			t.Fatal(err)
		}
		clients, err := loader.NewTarget(client).Clients(t.Context())
		equal(t, "clients", []any{kept + 10, nil}, []any{len(clients), err})
		announce(t, client, lib, "pod-a")
		clients, err = loader.NewTarget(client).Clients(t.Context())
		equal(t, "clients that are kept", []any{kept, nil, "loader.test", "old"}, []any{len(clients), err, clients[0].Service, clients[1].Service})
	})
}

// What no version of rlfunc wrote is named, whatever is in it, and nothing is removed meanwhile.
func TestAnnounce_namesWhatItCannotRead(t *testing.T) {
	for _, member := range []string{"", "shop_v1", "shop_v1@1.0.0 pod-a", "shop_v1@1.0.0 a python 17 pod\x1b[2J", "shop_v1@1.0.0 a b python 17 pod", "shop_v1@1.0.0 a python x pod"} {
		s := embedded.New(embedded.Options{})
		client := s.Client()
		if err := client.ZAdd(t.Context(), "rlfunc:{deploy}:clients", redis.Z{Score: float64(time.Now().UnixMilli()), Member: member}).Err(); err != nil {
			t.Fatal(err)
		}
		_, err := loader.NewTarget(client).PlanRetire(t.Context(), "shop_v1")
		if err == nil || !strings.Contains(err.Error(), strconv.Quote(member)+", which this version of rlfunc did not write; remove it with ZREM") {
			t.Errorf("%q: %v", member, err)
		}
		client.Close()
		s.Close()
	}
}

func TestAnnounce_foldsTheInstance(t *testing.T) {
	s := embedded.New(embedded.Options{})
	defer s.Close()
	client := s.Client()
	defer client.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		o := loader.AnnounceOptions{Service: "a.B-c_9", Instance: "pod\x1b\n" + strings.Repeat("y", 199)}
		loader.Announce(ctx, &signed{Caller: client, after: cancel}, bundle("shop", "1.0.0", "buy"), o)
	}()
	<-done
	clients, err := loader.NewTarget(client).Clients(t.Context())
	if err != nil || len(clients) != 1 {
		t.Fatal(clients, err)
	}
	equal(t, "names", []string{"a.B-c_9", "pod__" + strings.Repeat("y", 123)}, []string{clients[0].Service, clients[0].Instance})
}

// A name that Python and TypeScript refuse announces nothing in Go, too.
func TestAnnounce_refusesNames(t *testing.T) {
	s := embedded.New(embedded.Options{})
	defer s.Close()
	client := s.Client()
	defer client.Close()
	for _, name := range []string{"a b", "a\n", "käse", strings.Repeat("x", 65)} {
		var reported error
		loader.Announce(t.Context(), client, bundle("shop", "1.0.0", "buy"), loader.AnnounceOptions{Service: name, OnError: func(err error) { reported = err }})
		if reported == nil || !strings.HasPrefix(reported.Error(), "announce shop_v1: Service must be 1 to 64 of the characters A-Z a-z 0-9 _ - . , got ") {
			t.Errorf("%q: %v", name, reported)
		}
	}
	equal(t, "keys", int64(0), client.DBSize(t.Context()).Val())
}

// Without OnError a failure is a warning in the log.
func TestAnnounce_warnsByDefault(t *testing.T) {
	var log strings.Builder
	had := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(had)
	loader.Announce(t.Context(), impatient(t, "127.0.0.1:1"), bundle("shop", "1.0.0", "buy"), loader.AnnounceOptions{Service: "a b"})
	if got := log.String(); !strings.Contains(got, "level=WARN") || !strings.Contains(got, `got \"a b\"`) {
		t.Errorf("%s", got)
	}
}

func TestAnnounce_reportsErrors(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var reported error
	loader.Announce(ctx, impatient(t, "127.0.0.1:1"), bundle("shop", "1.0.0", "buy"), loader.AnnounceOptions{OnError: func(err error) {
		reported = err
		cancel()
	}})
	says(t, reported, loader.ErrUnreachable, "announce shop_v1")
}
