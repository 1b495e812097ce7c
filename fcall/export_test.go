package fcall

import "time"

// SetHealClock gives a client's healer another clock.
func SetHealClock(c *Client, now func() time.Time) { c.heal.now = now }

// SetClock gives a client another clock.
func SetClock(c *Client, now func() time.Time) { c.now = now }

// ScriptOf is what a client in ModeScripts sends for a function.
func ScriptOf(fn *Function) string { return scriptOf(fn) }

// Lanes has senders send every call of the clients over a Caller. It lasts as long as what it returns.
func Lanes(c Caller) (engine any) {
	e := engineOf(c, true)
	e.few = 0
	return e
}

// Underway is how many calls a client has without an answer so far, with those of the other clients over its Caller.
func Underway(c *Client) int {
	n := int(c.engine.only.underway.Load())
	c.engine.lanes.Range(func(_, l any) bool {
		n += int(l.(*lane).underway.Load())
		return true
	})
	return n
}

// HasEngine reports whether anything is kept for the clients over a Caller.
func HasEngine(c Caller) bool {
	engines.Lock()
	defer engines.Unlock()
	_, ok := engines.of[c]
	return ok
}
