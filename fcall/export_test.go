package fcall

// InFlight returns the number of a client's unanswered calls.
func InFlight(c *Client) int {
	n := int(c.transport.single.inFlight.Load())
	c.transport.queues.Range(func(_, l any) bool {
		n += int(l.(*nodeQueue).inFlight.Load())
		return true
	})
	return n
}
