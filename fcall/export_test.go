package fcall

import "time"

// SetAutoLoadClock sets the clock of a client's autoloader.
func SetAutoLoadClock(c *Client, now func() time.Time) { c.autoload.now = now }

// SetClock sets the clock of a client.
func SetClock(c *Client, now func() time.Time) { c.now = now }

// ScriptOf returns the script that a client in ModeScripts sends for a function.
func ScriptOf(fn *Function) string { return scriptOf(fn) }

// Queues makes senders send every call of the clients over a Caller, as long as its result is reachable.
func Queues(c Caller) (transport any) {
	e := transportFor(c, true)
	e.maxDirect = 0
	return e
}

// InFlight returns the number of unanswered calls of all clients over a client's Caller.
func InFlight(c *Client) int {
	n := int(c.transport.single.inFlight.Load())
	c.transport.queues.Range(func(_, l any) bool {
		n += int(l.(*nodeQueue).inFlight.Load())
		return true
	})
	return n
}

// HasTransport reports whether the clients over a Caller have a transport.
func HasTransport(c Caller) bool {
	transports.Lock()
	defer transports.Unlock()
	_, ok := transports.of[c]
	return ok
}
