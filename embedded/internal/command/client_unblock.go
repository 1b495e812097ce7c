package command

import "github.com/rlfunc/rlfunc/embedded/internal/reply"

// clientUnblock ends a command that waits, as if its time were over or with an error.
func clientUnblock(c *Call) reply.Value {
	withError := false
	if len(c.Args) == 4 {
		if withError = is(c.Args[3], "error"); !withError && !is(c.Args[3], "timeout") {
			return failure("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
		}
	}
	id, valid := parseInt(c.Args[2])
	switch {
	case len(c.Args) > 4:
		return wrongArity("client|unblock")
	case !valid:
		return errNotInt
	}
	session := c.State.sessions[id]
	if session == nil {
		return zero
	}
	w := c.State.waiter(session)
	if w == nil {
		return zero
	}
	v := w.expired
	if withError {
		v = failure("UNBLOCKED client unblocked via CLIENT UNBLOCK")
	}
	c.State.end(w, v)
	return one
}
