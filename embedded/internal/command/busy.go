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
