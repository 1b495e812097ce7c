package engines

import "sync"

// boxes are the servers of topologies that run.
var boxes struct {
	mu      sync.Mutex
	running map[box]bool
}

func trackBox(b box) (untrack func()) {
	boxes.mu.Lock()
	defer boxes.mu.Unlock()
	if boxes.running == nil {
		boxes.running = map[box]bool{}
	}
	boxes.running[b] = true
	return func() {
		boxes.mu.Lock()
		defer boxes.mu.Unlock()
		delete(boxes.running, b)
	}
}

// killBoxes ends what an interrupted run leaves.
func killBoxes() {
	boxes.mu.Lock()
	defer boxes.mu.Unlock()
	var wg sync.WaitGroup
	for b := range boxes.running {
		wg.Go(b.kill)
	}
	wg.Wait()
	clear(boxes.running)
}

// killedOnce is a box that the test or its cleanup kills, whichever is first.
type killedOnce struct {
	box
	once    *sync.Once
	untrack func()
}

func (k killedOnce) kill() {
	k.once.Do(func() {
		k.box.kill()
		k.untrack()
	})
}
