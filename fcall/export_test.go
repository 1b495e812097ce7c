package fcall

import "time"

// SetHealClock gives a client's healer another clock.
func SetHealClock(c *Client, now func() time.Time) { c.heal.now = now }
