package luatest_test

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

func TestSnapshot_ofAStreamIsTheSameOnAllServers(t *testing.T) {
	suites.Limiters.Each(t, func(t *testing.T, s *luatest.Server, _ *ratelimit.Client) {
		s.Do(t, "XADD", "jobs", "1-1", "kind", "mail", "kind", "a b")
		s.Do(t, "XADD", "jobs", "1-2", "kind", "\xff")
		value := func() []string {
			keys, err := s.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return keys["jobs"].Value
		}
		want := []string{`1-1 ["kind" "mail" "kind" "a b"]`, `1-2 ["kind" "\xff"]`}
		if diff := cmp.Diff(want, value()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s.Engine, diff)
		}
		if s.Redis.XGroupCreate(t.Context(), "jobs", "workers", "0").Err() != nil {
			return // the embedded engine has no groups
		}
		s.Do(t, "XREADGROUP", "GROUP", "workers", "w1", "COUNT", "1", "STREAMS", "jobs", ">")
		delivered := value()
		want = append(want,
			`group "workers": last-delivered-id=1-1, entries-read=1`, `group "workers": consumer "w1"`, `group "workers": 1-1 is pending for "w1" since T, deliveries: 1`)
		got := append([]string(nil), delivered...)
		for i := range got {
			got[i] = regexp.MustCompile(`since \d+`).ReplaceAllString(got[i], "since T")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s.Engine, diff)
		}
		s.Do(t, "XPENDING", "jobs", "workers")
		if diff := cmp.Diff(delivered, value()); diff != "" {
			t.Errorf("%s: after a command that only reads (-before +after):\n%s", s.Engine, diff)
		}
		s.Do(t, "XACK", "jobs", "workers", "1-1")
		if cmp.Equal(delivered, value()) {
			t.Errorf("%s: an acknowledged delivery is not seen", s.Engine)
		}
	})
}
