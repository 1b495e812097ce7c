package loader

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// clusterHealth is what is wrong or under way in a cluster. Every primary is asked: only it knows which of its slots are moving.
func (s *session) clusterHealth(ctx context.Context) []Warning {
	if s.view.nodes == nil {
		return nil
	}
	warnings := s.view.health()
	views := make([]clusterView, len(s.nodes))
	onEach(s.nodes, func(i int, n *node) {
		if n.loadable() && n.problem == nil {
			views[i] = n.viewCluster(ctx)
		}
	})
	for i, v := range views {
		if v.nodes == nil {
			continue
		}
		addr := s.nodes[i].Addr
		if !maps.Equal(v.slotOwners(), s.view.slotOwners()) {
			warnings = append(warnings, Warning{
				Code: "views_differ",
				Text: addr + " and " + s.view.seed + " do not name the same nodes and slots; nodes may be joining, or cut off: see `redis-cli --cluster check " + addr + "`",
			})
		}
		for _, n := range v.nodes {
			if n.is("myself") && len(n.moving) > 0 {
				warnings = append(warnings, Warning{
					Code: "slots_moving",
					Text: fmt.Sprintf("slots are moving at %s: %s; if nobody moves them, see `redis-cli --cluster fix %s`", addr, strings.Join(n.moving[:min(len(n.moving), 3)], ", "), addr),
				})
			}
		}
	}
	return warnings
}

// health is what is wrong as one node sees it.
func (v clusterView) health() []Warning {
	var warnings []Warning
	covered := make([]bool, hashSlots)
	for _, n := range v.nodes {
		if n.is("fail?") {
			warnings = append(warnings, Warning{Code: "node_failing", Text: v.seed + " can not reach " + n.reach(v.seed, nil) + " of its cluster"})
		}
		for _, r := range n.slots {
			for slot := max(r.first, 0); slot <= min(r.last, hashSlots-1) && !n.is("fail"); slot++ {
				covered[slot] = true
			}
		}
	}
	missing := 0
	for _, c := range covered {
		if !c {
			missing++
		}
	}
	if missing > 0 {
		first := slices.Index(covered, false)
		warnings = append(warnings, Warning{
			Code: "slots_uncovered",
			Text: fmt.Sprintf("%d of %d slots have no working primary, slot %d is the first of them: calls to keys there fail, and by default all calls; see `redis-cli --cluster fix %s`",
				missing, hashSlots, first, v.seed),
		})
	}
	return warnings
}

// slotOwners is who owns which slots, and which nodes there are.
func (v clusterView) slotOwners() map[string]string {
	owners := map[string]string{}
	for _, n := range v.nodes {
		owners[n.id] = fmt.Sprint(n.primary, n.slots)
	}
	return owners
}
