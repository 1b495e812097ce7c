package fcall

import "time"

// SetAutoLoadClock gives a client's autoloader another clock.
func SetAutoLoadClock(c *Client, now func() time.Time) { c.autoload.now = now }

// SetClock gives a client another clock.
func SetClock(c *Client, now func() time.Time) { c.now = now }

// ScriptOf is what a client in ModeScripts sends for a function.
func ScriptOf(fn *Function) string { return scriptOf(fn) }

// Queues has senders send every call of the clients over a Caller. It lasts as long as what it returns.
func Queues(c Caller) (transport any) {
	e := transportFor(c, true)
	e.maxDirect = 0
	return e
}

// InFlight is how many calls a client has without an answer so far, with those of the other clients over its Caller.
func InFlight(c *Client) int {
	n := int(c.transport.single.inFlight.Load())
	c.transport.queues.Range(func(_, l any) bool {
		n += int(l.(*nodeQueue).inFlight.Load())
		return true
	})
	return n
}

// HasTransport reports whether anything is kept for the clients over a Caller.
func HasTransport(c Caller) bool {
	transports.Lock()
	defer transports.Unlock()
	_, ok := transports.of[c]
	return ok
}
