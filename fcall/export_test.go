package fcall

import "time"

// SetHealClock gives a client's healer another clock.
func SetHealClock(c *Client, now func() time.Time) { c.heal.now = now }

// ScriptOf is what a client in ModeScripts sends for a function.
func ScriptOf(fn *Function) string { return scriptOf(fn) }
