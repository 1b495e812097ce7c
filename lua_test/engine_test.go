package luatest_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

// A project that has no engines of its own gets the embedded one, and the server that REDIS_URL names.
func TestEngines_areEmbeddedAndRedisURL(t *testing.T) {
	suite := suites.Limiters
	suite.Engines = nil
	take := luatest.Call((*ratelimit.Client).GCRA, ratelimit.GCRAParams{Subject: "u1", Limit: 1, Period: time.Second})
	steps := []luatest.Step[*ratelimit.Client]{
		{Call: take, Writes: true, Want: ratelimit.GCRAResult{Allowed: true, ResetAfter: time.Second}},
		{Call: take, Want: ratelimit.GCRAResult{RetryAfter: time.Second, ResetAfter: time.Second}},
		{Advance: time.Second, Call: take, Writes: true, Want: ratelimit.GCRAResult{Allowed: true, ResetAfter: time.Second}},
	}
	names := func() (all []string) {
		for _, e := range luatest.Engines(t) {
			all = append(all, e.Name)
		}
		return all
	}
	t.Setenv("REDIS_URL", "")
	if diff := cmp.Diff([]string{"embedded"}, names()); diff != "" {
		t.Errorf("engines (-want +got):\n%s", diff)
	}
	suite.Run(t, steps...)
	for _, e := range engines.Real(t) {
		t.Run(e.Name, func(t *testing.T) {
			client := e.Client(t)
			t.Setenv("REDIS_URL", e.URL)
			if diff := cmp.Diff([]string{"embedded", "redis-url"}, names()); diff != "" {
				t.Errorf("engines (-want +got):\n%s", diff)
			}
			suite.Run(t, steps...)
			if n := client.DBSize(t.Context()).Val(); n != 0 {
				t.Errorf("%d keys are left on the server", n)
			}
			if libraries, err := client.FunctionList(t.Context(), redis.FunctionListQuery{}).Result(); err != nil || len(libraries) != 0 {
				t.Errorf("libraries are left on the server: %v %v", libraries, err)
			}
		})
	}
}

func TestPackage_linksNoContainers(t *testing.T) {
	onpath.Used() // what it reads is not part of this program
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for dep := range strings.Lines(string(out)) {
		if strings.Contains(dep, "testcontainers") || strings.Contains(dep, "internal/engines") {
			t.Errorf("a project that tests with this package links %s", dep)
		}
	}
}
