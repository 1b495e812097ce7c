package fcall

import "time"

// SetHealClock gives a client's healer another clock.
func SetHealClock(c *Client, now func() time.Time) { c.heal.now = now }

// SetClock gives a client another clock.
func SetClock(c *Client, now func() time.Time) { c.now = now }

// ScriptOf is what a client in ModeScripts sends for a function.
func ScriptOf(fn *Function) string { return scriptOf(fn) }

// Under is what a Caller sends single commands with.
func Under(c Caller) Caller { return under(c) }
