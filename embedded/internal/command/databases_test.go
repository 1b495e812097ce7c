package command_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/embedded/internal/command"
)

func TestSwapDB_touchesNoMissingKeyThatAnExpiredOneReplaces(t *testing.T) {
	for name, step := range map[string]struct {
		watched []string // what database 0 holds at WATCH
		want    string
	}{
		"none":    {nil, "[+PONG]"},
		"expired": {[]string{"set", "k", "old", "px", "1"}, "[+PONG]"},
		"living":  {[]string{"set", "k", "old"}, "(nil array)"},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(1_700_000_000, 0)
			state := command.NewState(func() time.Time { return now }, nil)
			session := state.Connect("test")
			setup := [][]string{{"debug", "set-active-expire", "0"}, {"select", "1"}, {"set", "k", "new", "px", "1"}, {"select", "0"}}
			if step.watched != nil {
				setup = append(setup, step.watched)
			}
			for _, args := range setup {
				if v := state.Do(session, args); v.IsError() {
					t.Fatal(args, v.Str)
				}
			}
			now = now.Add(time.Second)
			for _, args := range [][]string{{"watch", "k"}, {"swapdb", "0", "1"}, {"multi"}, {"ping"}} {
				state.Do(session, args)
			}
			if diff := cmp.Diff(step.want, show(state.Do(session, []string{"exec"}))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
