package fcall

import (
	"context"
	"errors"
)

// A mapped Caller knows which node has which slots: a *redis.ClusterClient. It asks each minute, and when a node says MOVED;
// a primary that died says nothing, and all calls to its slots would fail until then, although a replica has taken over.
type mapped interface {
	// ReloadState asks in the background, five times a second at most, however often it is called.
	ReloadState(ctx context.Context)
}

// doubt has the slots looked up anew after a failure that a node's end would explain.
func (c *Client) doubt(ctx context.Context, err error) {
	m, ok := c.caller.(mapped)
	if !ok {
		return
	}
	var unavailable *UnavailableError
	var lost *OutcomeError
	switch {
	case errors.As(err, &lost) && lost.Code == "":
	case errors.As(err, &unavailable) && (unavailable.Code == "" || unavailable.Code == "CLUSTERDOWN"):
	default:
		return
	}
	m.ReloadState(context.WithoutCancel(ctx))
}
