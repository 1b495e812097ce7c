package command_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/embedded/internal/command"
	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/wire"
)

// Each difference is still one: with -record, also on the server that it names.
func TestDifferences_areStillThere(t *testing.T) {
	for _, d := range command.Differences {
		t.Run(d.Ask, func(t *testing.T) {
			if d.Redis == d.Here {
				t.Error("the two replies are equal")
			}
			if diff := cmp.Diff(d.Here, ask(t, inProcess(), d)); diff != "" {
				t.Errorf("here (-want +got)\n%s", diff)
			}
			if *record == "" {
				return
			}
			if diff := cmp.Diff(d.Redis, ask(t, realServer(t), d)); diff != "" {
				t.Errorf("on Redis (-want +got)\n%s", diff)
			}
		})
	}
}

func ask(t *testing.T, do func([]string) reply.Value, d command.Difference) string {
	t.Helper()
	var v reply.Value
	for line := range strings.SplitSeq(d.Setup+";"+d.Ask, ";") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		args, err := wire.NewReader(strings.NewReader(line+"\n"), &command.NewState(time.Now, nil).Limits, func() {}).Command(0)
		if err != nil {
			t.Fatalf("read %q: %v", line, err)
		}
		v = do(args)
	}
	return show(v)
}
