package engines_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/internal/engines"
)

func TestMain(m *testing.M) { engines.Main(m) }

const library = `#!lua name=engines_test
redis.register_function('engines_test_set', function(keys, args) return redis.call('SET', keys[1], args[1], 'PX', '60000') end)
`

func TestClient_startsEmptyAndLeavesNothing(t *testing.T) {
	for _, e := range engines.All(t) {
		t.Run(e.Name, func(t *testing.T) {
			for range 2 {
				t.Run("visit", func(t *testing.T) {
					c := e.Client(t)
					if n := c.DBSize(t.Context()).Val(); n != 0 {
						t.Fatalf("%d keys are there before the test", n)
					}
					if err := c.FunctionLoad(t.Context(), library).Err(); err != nil {
						t.Fatal(err)
					}
					got, err := c.FCall(t.Context(), "engines_test_set", []string{"k"}, "v").Result()
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(any("OK"), got); diff != "" {
						t.Errorf("FCALL (-want +got):\n%s", diff)
					}
					second := e.Connect(t, nil)
					if n := second.DBSize(t.Context()).Val(); n != 1 {
						t.Errorf("a second connection sees %d keys, want 1", n)
					}
				})
			}
		})
	}
}

func TestEngine_versionIsTheServersOwn(t *testing.T) {
	want := map[string]string{"redis-7.0": "Redis 7.0.", "redis-8.0": "Redis 8.0.", "valkey-8": "Valkey 8.", "redis-8": "Redis 8.", "valkey-9": "Valkey 9."}
	for _, e := range engines.All(t) {
		if !strings.HasPrefix(e.Version, want[e.Name]) {
			t.Errorf("%s says that it is %s", e.Name, e.Version)
		}
	}
}

// child runs this test binary again, as another package's tests would: only the visit, in the given environment.
func child(t *testing.T, env ...string) (output string, ok bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestClient_startsEmpty", "-test.v")
	cmd.Env = append(os.Environ(), append([]string{
		"REDIS_URL=", "RLFUNC_ENGINES=all", "RLFUNC_REQUIRE_ENGINES=", "RLFUNC_ENGINE_REPORT=", "RLFUNC_ENGINE_POOL=", "RLFUNC_REDIS_URL_FLUSH=",
		// Under the race detector a process would sleep for a second at its end.
		"GORACE=atexit_sleep_ms=0",
	}, env...)...)
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

func TestRequire_failsOnAnEngineThatIsNotReached(t *testing.T) {
	out, ok := child(t, "RLFUNC_ENGINES=redis-url", "RLFUNC_REQUIRE_ENGINES=redis-url")
	if ok || !strings.Contains(out, "redis-url is required and was not reached: REDIS_URL is not set") {
		t.Errorf("want a failure that names the engine and the reason, got:\n%s", out)
	}
}

func TestRequire_refusesAnUnknownName(t *testing.T) {
	out, ok := child(t, "RLFUNC_ENGINES=none", "RLFUNC_REQUIRE_ENGINES=redis-6")
	if ok || !strings.Contains(out, `names "redis-6", which is not an engine here`) {
		t.Errorf("want a failure that names redis-6, got:\n%s", out)
	}
}

func TestRedisURL_neverEmptiesAnothersServer(t *testing.T) {
	all := engines.Real(t)
	if len(all) == 0 {
		t.Skip("no real engine is here to be named by REDIS_URL")
	}
	own := all[0].Own(t)
	c := own.Client(t)
	only := []string{"RLFUNC_ENGINES=redis-url", "REDIS_URL=" + own.URL}

	steps := []struct {
		name    string
		do      func() error
		env     string
		ok      bool
		message string
	}{
		{name: "an empty database is used", do: func() error { return nil }, env: "RLFUNC_REQUIRE_ENGINES=redis-url", ok: true, message: "/redis-url/visit"},
		{
			name: "a database with a key is not",
			do:   func() error { return c.Set(t.Context(), "theirs", "1", 0).Err() },
			ok:   true, message: "holds 1 keys, which the tests would delete",
		},
		{
			name: "unless that is allowed", do: func() error { return nil },
			env: "RLFUNC_REDIS_URL_FLUSH=1", ok: true, message: "/redis-url/visit",
		},
		{
			name: "nor a server with functions",
			do:   func() error { return c.FunctionLoad(t.Context(), library).Err() },
			ok:   true, message: "holds the function libraries engines_test",
		},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			t.Fatal(err)
		}
		out, ok := child(t, append(only, s.env)...)
		if ok != s.ok || !strings.Contains(out, s.message) {
			t.Errorf("%s: ok is %v; want %q in:\n%s", s.name, ok, s.message, out)
		}
	}
}
