package fcall_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/engines"
)

func TestParseIdentity(t *testing.T) {
	two := map[string]string{"ratelimit_v1": "1.2.0", "cost_v1": "1.0.0-rc.1"}
	for libName, want := range map[string]map[string]string{
		"ratelimit_v1@1.2.0+cost_v1@1.0.0-rc.1":                    two,
		"go-redis(ratelimit_v1@1.2.0+cost_v1@1.0.0-rc.1,go1.26.8)": two,
		"node-redis(ratelimit_v1@1.2.0+cost_v1@1.0.0-rc.1)":        two,
		"ratelimit_v1@1.2.0+build.7+cost_v1@1.0.0-rc.1":            two, // build metadata does not order versions
		"redis-py(shop+ratelimit_v1@1.2.0)":                        {"ratelimit_v1": "1.2.0"},
		"go-redis(,go1.26.8)":                                      nil,
		"":                                                         nil,
		"me@example.org":                                           nil,
		"go-redis(a\x1b[2J@1.0.0+b_v1@1\n.0+c_v1@,go1)":            nil,
		strings.Repeat("a", 200) + "@1.0.0":                        nil,
	} {
		if diff := cmp.Diff(want, fcall.ParseIdentity(libName)); diff != "" {
			t.Errorf("ParseIdentity(%.60q) (-want +got)\n%s", libName, diff)
		}
	}
}

func TestMain(m *testing.M) { engines.Main(m) }
