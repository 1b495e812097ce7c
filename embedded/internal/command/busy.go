package command

import (
	"sync"
	"time"

	"github.com/rlfunc/rlfunc/embedded/internal/luahost"
	"github.com/rlfunc/rlfunc/embedded/internal/reply"
)

// Share hands over the lock that each call of Do holds. A function or script that runs for longer than busy-reply-threshold releases
// it between its commands, so that other clients get BUSY instead of waiting.
func (s *State) Share(lock sync.Locker) {
	s.lock, s.idle = lock, sync.NewCond(lock)
}

// Idle waits until no function or script is half done. It is for what reads or replaces all keys; the caller holds the lock.
func (s *State) Idle() {
	for s.script.busy {
		s.idle.Wait()
	}
}

// watchFor has the script become busy after busy-reply-threshold.
func (s *State) watchFor(lua *luahost.Library) {
	if s.lock == nil || s.busyAfter <= 0 {
		return
	}
	lua.OnSlow(s.busyAfter, s.becomeBusy)
}

func (s *State) becomeBusy() {
	s.script.busy, s.script.since = true, time.Now().Add(-s.busyAfter)
	s.lock.Unlock()
}

func busyText(lua *luahost.Library) reply.Value {
	how := "FUNCTION"
	if lua.Name == "" {
		how = "SCRIPT"
	}
	return failure("BUSY Redis is busy running a script. You can only call " + how + " KILL or SHUTDOWN NOSAVE.")
}

// duringScript runs one of the few commands that are allowed while a script is busy.
func (s *State) duringScript(session *Session, cmd *Command, args []string) reply.Value {
	switch {
	case cmd.Flags&AllowBusy == 0:
		return s.refuse(session, cmd, busyText(s.running.Load()))
	case session.multi && cmd.Flags&AtOnce == 0:
		return session.enqueue(cmd, args)
	}
	return s.run(session, cmd, args, s.now().UnixMicro())
}

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
