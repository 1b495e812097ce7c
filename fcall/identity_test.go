package fcall_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

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

// What go-redis sends is in CLIENT LIST of each server that has it.
func TestIdentity_isReadFromClientList(t *testing.T) {
	libraries := []*fcall.Library{{ServerName: "ratelimit_v1", Version: "1.2.0"}, {ServerName: "cost_v1", Version: "1.0.0-rc.1"}}
	for _, e := range engines.Ends(t) {
		t.Run(e.Name, func(t *testing.T) {
			o := *e.Client(t).Options()
			o.ClientName, o.IdentitySuffix = "checkout", fcall.Identity(libraries...)
			rdb := redis.NewClient(&o)
			defer rdb.Close()
			line, err := rdb.Do(t.Context(), "CLIENT", "INFO").Text()
			if err != nil {
				t.Fatal(err)
			}
			fields := map[string]string{}
			for field := range strings.FieldsSeq(line) {
				name, value, _ := strings.Cut(field, "=")
				fields[name] = value
			}
			want := map[string]string{"ratelimit_v1": "1.2.0", "cost_v1": "1.0.0-rc.1"}
			if _, ok := fields["lib-name"]; !ok { // before Redis 7.2
				want = nil
			}
			if diff := cmp.Diff(want, fcall.ParseIdentity(fields["lib-name"])); diff != "" || fields["name"] != "checkout" {
				t.Errorf("name %q, libraries (-want +got)\n%s", fields["name"], diff)
			}
		})
	}
}
