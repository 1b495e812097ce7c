package command

import (
	"time"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
)

// The progress of the running function: it can be stopped only before it writes, and cannot write once a stop is requested.
const (
	onlyRead int32 = iota
	written
	killed
)

// Kill is FUNCTION KILL, or SCRIPT KILL if script is set: it stops what runs, if it has not written yet, and waits until it has ended.
// Unlike everything else it may be called while another command runs.
func (s *State) Kill(script bool) reply.Value {
	lua := s.running.Load()
	call := s.began.Load() // after running: it is counted before it runs
	switch {
	case lua == nil:
		return failure("NOTBUSY No scripts in execution right now.")
	case s.phase.Load() == written:
		return errUnkillable
	case script != (lua.Name == ""):
		return busyText(lua)
	case !s.phase.CompareAndSwap(onlyRead, killed) && s.phase.Load() == written:
		return errUnkillable
	}
	// A call that is about to begin does not see the first request.
	for ; s.began.Load() == call && s.running.Load() == lua; time.Sleep(time.Millisecond) {
		lua.Kill()
	}
	return okay
}

var errUnkillable = failure("UNKILLABLE Sorry the script already executed write commands against the dataset. You can either wait the script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command.")
