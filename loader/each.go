package loader

import (
	"context"

	"github.com/rlfunc/rlfunc/fcall"
)

// Each runs f for every node that may be reached, all at once, each with a client of that node alone, which is closed afterwards.
func (t *Target) Each(ctx context.Context, f func(ctx context.Context, n Node, client fcall.Caller)) error {
	s, err := t.open(ctx, true)
	if err != nil {
		return err
	}
	defer s.close()
	onEach(s.nodes, func(_ int, n *node) {
		if n.problem == nil {
			f(ctx, n.Node, n.caller)
		}
	})
	return nil
}
