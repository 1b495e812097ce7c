package luahost

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rlfunc/rlfunc/embedded/internal/reply"
)

func TestDifferences_areStillThere(t *testing.T) {
	for _, d := range Differences {
		t.Run(d.Name, func(t *testing.T) {
			if diff := cmp.Diff(d.Here, snippet{code: d.Snippet}.answer()); diff != "" {
				t.Errorf("%s (-want +got)\n%s", d.Snippet, diff)
			}
		})
	}
}

func TestDifferences_realServer(t *testing.T) {
	server := startRedis(t, "7.0.")
	for _, d := range Differences {
		t.Run(d.Name, func(t *testing.T) {
			got := server.do("FUNCTION", "LOAD", "REPLACE", snippet{code: d.Snippet}.source())
			if got.Kind != reply.Error {
				got = server.do("FCALL", "f", "0")
			}
			if diff := cmp.Diff(d.Redis, render(got)); diff != "" {
				t.Errorf("%s (-want +got)\n%s", d.Snippet, diff)
			}
		})
	}
}
