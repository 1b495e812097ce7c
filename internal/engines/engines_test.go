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
		"RLFUNC_ENGINES=all", "RLFUNC_REQUIRE_ENGINES=", "RLFUNC_ENGINE_REPORT=", "RLFUNC_ENGINE_POOL=",
		// Under the race detector a process would sleep for a second at its end.
		"GORACE=atexit_sleep_ms=0",
	}, env...)...)
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

func TestRequire_failsOnAnEngineThatIsNotReached(t *testing.T) {
	out, ok := child(t, "RLFUNC_ENGINES=valkey-9", "RLFUNC_REQUIRE_ENGINES=valkey-9", "PATH=")
	if ok || !strings.Contains(out, "valkey-9 is required and was not reached: no Docker engine answers") {
		t.Errorf("want a failure that names the engine and the reason, got:\n%s", out)
	}
}

func TestRequire_refusesAnUnknownName(t *testing.T) {
	out, ok := child(t, "RLFUNC_ENGINES=none", "RLFUNC_REQUIRE_ENGINES=redis-6")
	if ok || !strings.Contains(out, `names "redis-6", which is not an engine here`) {
		t.Errorf("want a failure that names redis-6, got:\n%s", out)
	}
}
