package command

import (
	"fmt"
	"strings"
)

// usage counts the calls of a command since CONFIG RESETSTAT.
type usage struct {
	calls, rejected, failed int64
}

func (u usage) String() string {
	return fmt.Sprintf("calls=%d,rejected_calls=%d,failed_calls=%d", u.calls, u.rejected, u.failed)
}

// reject counts an error before a command ran. cmd is nil if there is none.
func (s *State) reject(cmd *Command) {
	if cmd != nil {
		s.used[cmd.index].rejected++
	}
}

func infoCommandstats(c *Call, b *strings.Builder) {
	for _, cmd := range rows {
		if u := c.State.used[cmd.index]; u != (usage{}) {
			line(b, "cmdstat_"+cmd.Name, u)
		}
	}
}
