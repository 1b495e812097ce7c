package loader

import (
	"sync"

	"github.com/rlfunc/rlfunc/loader/internal/cluster"
	"github.com/rlfunc/rlfunc/loader/internal/conn"
)

// A node is a Node and the connection to it.
type node struct {
	Node
	*conn.Conn
	problem *Error  // why the node is known to be unreachable, or nil
	answer  *answer // what INFO or HELLO said, or nil
	id      string  // in its cluster
	slots   []cluster.SlotRange
}

// loadable reports whether libraries are loaded on the node. Replicas get them from their primary.
func (n *node) loadable() bool { return n.Follows == "" }

// onEach runs f for all nodes concurrently.
func onEach(nodes []*node, f func(i int, n *node)) {
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() { f(i, n) })
	}
	wg.Wait()
}
