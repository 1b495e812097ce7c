package command

import (
	"fmt"
	stdmaps "maps"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
)

// usage counts the calls of a command since CONFIG RESETSTAT.
type usage struct {
	calls, rejected, failed int64
}

func (u usage) String() string {
	return fmt.Sprintf("calls=%d,rejected_calls=%d,failed_calls=%d", u.calls, u.rejected, u.failed)
}

// maxErrorKinds is how many kinds of errors INFO counts apart: scripts can make up any number.
const maxErrorKinds = 128

// errorCounts counts error replies by their first word.
type errorCounts struct {
	total int64
	kinds map[string]int64
}

func (e *errorCounts) add(text string) {
	e.total++
	kind, _, found := strings.Cut(text, " ")
	if !found || len(kind) >= 32 {
		kind = "ERR"
	}
	kind = unsafeInInfo.Replace(kind)
	if _, known := e.kinds[kind]; !known && len(e.kinds) == maxErrorKinds {
		return
	}
	if e.kinds == nil {
		e.kinds = map[string]int64{}
	}
	e.kinds[kind]++
}

var unsafeInInfo = strings.NewReplacer("#", "_", ":", "_", "\r", "_", "\n", "_")

// reject counts an error before a command ran. cmd is nil if there is none.
func (s *State) reject(cmd *Command, v reply.Value) {
	if cmd != nil {
		s.used[cmd.index].rejected++
	}
	s.errors.add(v.Str)
}

// failed counts the error of a command that ran. The error of a command in a script, which the script passes on, is counted already.
func (s *State) failed(cmd *Command, v reply.Value, counted string) {
	s.used[cmd.index].failed++
	if counted == "" || !strings.HasPrefix(v.Str, counted) {
		s.errors.add(v.Str)
	}
}

func (s *State) resetStats() {
	clear(s.used)
	s.processed, s.errors = 0, errorCounts{}
}

func infoCommandstats(c *Call, b *strings.Builder) {
	for _, cmd := range rows {
		if u := c.State.used[cmd.index]; u != (usage{}) {
			line(b, "cmdstat_"+cmd.Name, u)
		}
	}
}

func infoErrorstats(c *Call, b *strings.Builder) {
	for _, kind := range slices.Sorted(stdmaps.Keys(c.State.errors.kinds)) {
		line(b, "errorstat_"+kind, fmt.Sprintf("count=%d", c.State.errors.kinds[kind]))
	}
}
