package loader

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/requires"
	"github.com/rlfunc/rlfunc/loader/internal/resp"
)

// preflight adds the risks of a deploy to the states of nodes and to the session. It only reads, and skips what the user may
// not read.
func (s *session) preflight(ctx context.Context, states []NodeState, libs []*fcall.Library) {
	s.warnings = append(s.warnings, s.clusterHealth(ctx)...)
	s.warnings = append(s.warnings, versionsDiffer(states)...)
	onEach(s.nodes, func(i int, n *node) {
		if !states[i].Readable {
			return
		}
		if n.loadable() {
			states[i].Warnings = append(states[i].Warnings, n.risks(ctx, states[i], libs)...)
		} else {
			states[i].Warnings = append(states[i].Warnings, n.astray(states[i])...)
		}
	})
	s.compareReplicas(states, libs)
}

// risks returns what can cost a primary its libraries or their keys.
func (n *node) risks(ctx context.Context, state NodeState, libs []*fcall.Library) []Warning {
	var warnings []Warning
	if state.Server.Kind == requires.Embedded || n.answer == nil || n.answer.info == nil {
		return nil
	}
	info := n.answer.info
	if info["aof_enabled"] == "0" && n.savesNothing(ctx) {
		warnings = append(warnings, Warning{
			Code: "not_persistent",
			Text: "neither snapshots nor the append-only file are on (save is empty, appendonly is no): a restart loses the libraries; turn one of them on, or deploy after each start",
		})
	}
	policy, limit := info["maxmemory_policy"], state.Server.MaxMemory
	if limit > 0 && policy != "" && policy != "noeviction" {
		warnings = append(warnings, Warning{
			Code: "eviction",
			Text: "with maxmemory-policy " + policy + " a full server evicts keys of the functions, which resets limits; use noeviction",
		})
	}
	if need := memoryFor(state, libs); need > 0 && limit > 0 && state.Server.UsedMemory < limit && state.Server.UsedMemory+need > limit {
		warnings = append(warnings, Warning{
			Code: "memory",
			Text: fmt.Sprintf("%d of %d bytes of maxmemory are in use, and the libraries need about %d: the server may refuse writes after the load", state.Server.UsedMemory, limit, need),
		})
	}
	return warnings
}

// savesNothing reports whether snapshots are off. It reports false if the user may not read the configuration.
func (n *node) savesNothing(ctx context.Context) bool {
	reply, err := n.Do(ctx, false, "CONFIG", "GET", "save")
	if err != nil {
		return false
	}
	save, known := resp.Map(reply)["save"].(string)
	return known && strings.Trim(save, `" `) == ""
}

// bytesPerByte estimates a library's memory for each byte of its text. Each of four libraries of this module took 1.1 to 1.2
// (Redis 7.0.15); the memory of the Lua machine does not count against maxmemory.
const bytesPerByte = 2

// memoryFor estimates the memory of the missing and the older libraries.
func memoryFor(state NodeState, libs []*fcall.Library) int64 {
	var need int64
	for _, lib := range libs {
		if found := compare(lib, state.Libraries); found.State == Missing || found.State == Older {
			need += bytesPerByte * int64(len(lib.Code))
		}
	}
	return need
}

// astray returns why a replica may not receive its primary's libraries.
func (n *node) astray(state NodeState) []Warning {
	switch {
	case n.answer.role == Primary:
		return []Warning{{
			Code: "role_differs",
			Text: "the topology lists it as a replica of " + n.Follows + ", and it says that it is a primary: a failover may be in progress; plan again when it is over",
		}}
	case n.answer.info["master_link_status"] == "down":
		return []Warning{{
			Code: "replica_link_down",
			Text: "this replica has no connection to its primary " + state.Server.Primary + ", and receives nothing from it",
		}}
	}
	return nil
}

// compareReplicas warns about replicas that differ from a primary that is already up to date.
func (s *session) compareReplicas(states []NodeState, libs []*fcall.Library) {
	of := map[string]NodeState{}
	for _, state := range states {
		of[state.Addr] = state
	}
	for i, state := range states {
		primary, ok := of[state.Follows]
		if !ok || !state.Readable || !primary.Readable {
			continue
		}
		for _, lib := range libs {
			here, there := compare(lib, state.Libraries), compare(lib, primary.Libraries)
			if here.Digest != there.Digest && (there.State == Same || there.State == Newer) {
				states[i].Warnings = append(states[i].Warnings, Warning{
					Code: "replica_differs",
					Text: "its primary " + state.Follows + " holds " + describe(there) + " of " + lib.ServerName + ", and this replica holds " + describe(here) +
						": it lags, or its replication is broken; a failover would restore that",
				})
			}
		}
	}
}

// versionsDiffer warns about nodes that run different servers.
func versionsDiffer(states []NodeState) []Warning {
	nodes := map[string][]string{}
	var kinds []string
	for _, s := range states {
		if kind := s.Server.String(); s.Server.Version != "" {
			if nodes[kind] == nil {
				kinds = append(kinds, kind)
			}
			nodes[kind] = append(nodes[kind], s.Addr)
		}
	}
	if len(kinds) < 2 {
		return nil
	}
	slices.Sort(kinds)
	var texts []string
	for _, kind := range kinds {
		texts = append(texts, kind+" ("+strings.Join(nodes[kind], ", ")+")")
	}
	return []Warning{{
		Code: "versions_differ",
		Text: "the nodes run " + strings.Join(texts, " and ") + ": functions may behave differently on them, and a replica of an older version than its primary cannot always replicate",
	}}
}

// retiredBefore warns about retired libraries that a deploy restores.
func retiredBefore(states []NodeState, libs []*fcall.Library) []Warning {
	var warnings []Warning
	for _, lib := range libs {
		for _, state := range states {
			if found := compare(lib, state.Libraries); found.State == Retired {
				warnings = append(warnings, Warning{
					Code: "retired",
					Text: lib.ServerName + " was retired at " + clockTime(found.Retired) + "; a deploy restores it",
				})
				break
			}
		}
	}
	return warnings
}
