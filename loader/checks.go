package loader

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/requires"
	"github.com/rlfunc/rlfunc/loader/internal/resp"
)

// A Severity ranks a warning.
type Severity string

// The severities. A Problem exists now, a Warn may become one, a Note is information.
const (
	Problem Severity = "problem"
	Warn    Severity = "warning"
	Note    Severity = "note"
)

// A Warning is a problem or a risk, and its fix. A plan has those that matter to a deploy, and [Target.Diagnose] all.
type Warning struct {
	ID       string   `json:"id"` // "not_persistent"
	Severity Severity `json:"severity"`
	Node     string   `json:"node,omitempty"` // of a diagnosis: "127.0.0.1:7001"; empty for the target as a whole
	Text     string   `json:"text"`
	Fix      string   `json:"fix,omitempty"`
}

// String is the text and the fix.
func (w Warning) String() string {
	if w.Fix == "" {
		return w.Text
	}
	return w.Text + "; " + w.Fix
}

// warning returns a Warning of severity Warn.
func warning(id, text, fix string) Warning {
	return Warning{ID: id, Severity: Warn, Text: text, Fix: fix}
}

// facts describe a node for the checks. Facts that the user may not read are missing, and checks skip them.
type facts struct {
	state  NodeState
	role   Role              // what the node says
	info   map[string]string // of INFO
	config map[string]string // of CONFIG GET
	// ahead is the node's clock less this machine's. clockKnown reports whether it could be read. uncertainty is half of the
	// round trip.
	ahead, uncertainty time.Duration
	clockKnown         bool
	// running is the function that the node is running, or "", and since is for how long.
	running string
	since   time.Duration
	// open reports whether a client without a password may run all commands.
	open bool
}

// A check examines the facts of one node.
type check struct {
	id       string
	severity Severity
	plan     bool                 // a deploy should know it, so plans have it too
	look     func(f facts) string // the problem, or ""
	fix      string
}

// skew is the difference of clocks from which windows are noticeably wrong.
const skew = time.Second

// checks are all that is asked of one node.
var checks = []check{
	{
		id: "not_persistent", severity: Warn, plan: true,
		look: func(f facts) string {
			save, known := f.config["save"]
			if f.ownPrimary() && f.info["aof_enabled"] == "0" && known && strings.Trim(save, `" `) == "" {
				return "neither snapshots nor the append-only file are on (save is empty, appendonly is no): a restart loses the libraries"
			}
			return ""
		},
		fix: "turn one of them on, or deploy after each start",
	},
	{
		id: "eviction", severity: Warn, plan: true,
		look: func(f facts) string {
			policy := f.info["maxmemory_policy"]
			if f.ownPrimary() && f.state.Server.MaxMemory > 0 && policy != "" && policy != "noeviction" {
				return "with maxmemory-policy " + policy + " a full server evicts keys of the functions, which resets limits"
			}
			return ""
		},
		fix: "use noeviction",
	},
	{
		id: "role_differs", severity: Warn, plan: true,
		look: func(f facts) string {
			if f.state.Follows != "" && f.role == Primary {
				return "the topology lists it as a replica of " + f.state.Follows + ", and it says that it is a primary: a failover may be in progress"
			}
			return ""
		},
		fix: "plan again when it is over",
	},
	{
		id: "replica_link_down", severity: Problem, plan: true,
		look: func(f facts) string {
			if f.info["master_link_status"] == "down" {
				return "this replica has no connection to its primary " + f.state.Server.Primary + ": deploys do not reach it, and if it is promoted it may lack libraries"
			}
			return ""
		},
		fix: "see the server's log; when the link is up again, run rlfunc verify",
	},
	{
		id: "bits", severity: Problem,
		look: func(f facts) string {
			if f.info["arch_bits"] == "32" {
				return "it is a 32-bit build: Lua's %d truncates numbers above 2^31, so times and amounts that libraries store are wrong"
			}
			return ""
		},
		fix: "run a 64-bit build",
	},
	{
		id: "busy", severity: Problem,
		look: func(f facts) string {
			if f.running == "" || f.since < time.Second {
				return ""
			}
			return fmt.Sprintf("%s has been running for %.1f s, and the server answers nothing else meanwhile", f.running, f.since.Seconds())
		},
		fix: "FUNCTION KILL ends it if it has not written yet; otherwise only SHUTDOWN NOSAVE does",
	},
	{
		id: "not-saving", severity: Warn,
		look: func(f facts) string {
			if f.info["rdb_last_bgsave_status"] == "err" {
				return "the last snapshot failed" + writesStop(f)
			}
			if f.info["aof_last_write_status"] == "err" {
				return "the last write to the append-only file failed" + writesStop(f)
			}
			return ""
		},
		fix: "see the server's log and the disk",
	},
	{
		id: "clients", severity: Warn,
		look: func(f facts) string {
			most, have := number(f.config["maxclients"]), number(f.info["connected_clients"])
			if most == 0 || have*5 < most*4 {
				return ""
			}
			return fmt.Sprintf("%d of %d connections are in use; the server refuses clients beyond that", have, most)
		},
		fix: "raise maxclients, or lower the pools of the services",
	},
	{
		id: "clock", severity: Warn,
		look: func(f facts) string {
			apart := f.ahead.Abs() - f.uncertainty
			if !f.clockKnown || apart < skew {
				return ""
			}
			side := "ahead of"
			if f.ahead < 0 {
				side = "behind"
			}
			return fmt.Sprintf("its clock is %.1f s %s this machine's: after a failover windows are longer or shorter by the difference", f.ahead.Abs().Seconds(), side)
		},
		fix: "run an NTP client on the server (and on this machine)",
	},
	{
		id: "threshold", severity: Note,
		look: func(f facts) string {
			if ms := number(f.config["busy-reply-threshold"]); ms > 5000 {
				return fmt.Sprintf("a function may block the server for %d s before clients get BUSY", ms/1000)
			}
			return ""
		},
		fix: "CONFIG SET busy-reply-threshold 5000, or less",
	},
	{
		id: "open", severity: Warn,
		look: func(f facts) string {
			if f.open && f.config["protected-mode"] != "yes" {
				return "any client that reaches the port may run every command without a password: replace functions, reset limits"
			}
			return ""
		},
		fix: "give the default user a password or switch it off, and each job its own user (rlfunc acl)",
	},
}

func writesStop(f facts) string {
	if f.config["stop-writes-on-bgsave-error"] == "no" {
		return ""
	}
	return ", and the server refuses writes, and with them most calls (MISCONF)"
}

// number parses a whole number, or returns 0.
func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64) // missing and malformed both mean that there is nothing to check
	return n
}

// ownPrimary reports whether the node is a primary that is a process of its own.
func (f facts) ownPrimary() bool {
	return f.state.Follows == "" && f.state.Server.Kind != requires.Embedded
}

// gather reads the facts of a node that has answered: those of a plan, or all. It asks no more of a node that has stopped
// answering.
func (n *node) gather(ctx context.Context, state NodeState, all bool) facts {
	f := facts{state: state, role: n.answer.role, info: n.answer.info, config: map[string]string{}}
	silent := false
	do := func(args ...any) any {
		if silent {
			return nil
		}
		reply, err := n.Do(ctx, false, args...)
		var refusal redis.Error
		silent = err != nil && !errors.As(err, &refusal)
		return reply
	}
	config := func(name string) {
		if value, ok := resp.Map(do("CONFIG", "GET", name))[name].(string); ok {
			f.config[name] = value
		}
	}
	if f.ownPrimary() && f.info["aof_enabled"] == "0" {
		config("save")
	}
	if !all {
		return f
	}
	for _, name := range []string{"busy-reply-threshold", "maxclients", "protected-mode", "stop-writes-on-bgsave-error"} {
		config(name)
	}
	sent := time.Now()
	if at, err := resp.Time(do("TIME")); err == nil {
		f.clockKnown = true
		f.uncertainty = time.Since(sent) / 2
		f.ahead = at.Sub(sent.Add(f.uncertainty))
	}
	if script := resp.Map(resp.Map(do("FUNCTION", "STATS"))["running_script"]); len(script) > 0 {
		f.running, _ = script["name"].(string)
		ms, _ := script["duration_ms"].(int64)
		f.since = time.Duration(ms) * time.Millisecond
	}
	f.open = isOpen(do("ACL", "GETUSER", "default"))
	return f
}

// isOpen reads from ACL GETUSER whether a client without a password may run all commands.
func isOpen(reply any) bool {
	user := resp.Map(reply)
	commands, _ := user["commands"].(string)
	flags, _ := user["flags"].([]any)
	return slices.Contains(flags, any("on")) && slices.Contains(flags, any("nopass")) && strings.HasPrefix(commands, "+@all")
}

// examine adds the warnings of a plan, or all of a diagnosis, to the states of nodes and to the session. It only reads, and skips
// what the user may not read.
func (s *session) examine(ctx context.Context, states []NodeState, libs []*fcall.Library, all bool) {
	if s.view.nodes != nil {
		s.warnings = append(s.warnings, s.clusterHealth(ctx)...)
	}
	s.warnings = append(s.warnings, versionsDiffer(states)...)
	onEach(s.nodes, func(i int, n *node) {
		if states[i].Server == (Server{}) || !all && !states[i].Readable {
			return // each question to a silent node would take its whole time
		}
		f := n.gather(ctx, states[i], all)
		for _, c := range checks {
			if text := c.look(f); text != "" && (all || c.plan) {
				states[i].Warnings = append(states[i].Warnings, Warning{ID: c.id, Severity: c.severity, Text: text, Fix: c.fix})
			}
		}
	})
	compareReplicas(states, libs)
	s.warnings = append(s.warnings, retiredBefore(states, libs)...)
}

// compareReplicas warns about replicas that differ from a primary that is already up to date.
func compareReplicas(states []NodeState, libs []*fcall.Library) {
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
			if here.FromDigest != there.FromDigest && (there.State == Same || there.State == Newer) {
				states[i].Warnings = append(states[i].Warnings, warning("replica_differs",
					"its primary "+state.Follows+" holds "+describe(there)+" of "+lib.ServerName+", and this replica holds "+describe(here)+
						": it lags, or its replication is broken; a failover would restore that", "see INFO replication on both"))
			}
		}
	}
}

// versionsDiffer warns about nodes that run different servers.
func versionsDiffer(states []NodeState) []Warning {
	nodes := map[string][]string{}
	for _, s := range states {
		if s.Server.Version != "" {
			nodes[s.Server.String()] = append(nodes[s.Server.String()], s.Addr)
		}
	}
	if len(nodes) < 2 {
		return nil
	}
	var texts []string
	for _, kind := range slices.Sorted(maps.Keys(nodes)) {
		texts = append(texts, kind+" ("+strings.Join(nodes[kind], ", ")+")")
	}
	return []Warning{warning("versions_differ",
		"the nodes run "+strings.Join(texts, " and ")+": functions may behave differently on them, and a replica of an older version than its primary cannot always replicate",
		"upgrade the older ones")}
}

// retiredBefore warns about retired libraries that a deploy restores.
func retiredBefore(states []NodeState, libs []*fcall.Library) []Warning {
	var warnings []Warning
	for _, lib := range libs {
		for _, state := range states {
			if found := compare(lib, state.Libraries); found.State == Retired {
				warnings = append(warnings, warning("retired", lib.ServerName+" was retired at "+clockTime(found.Retired)+"; a deploy restores it", ""))
				break
			}
		}
	}
	return warnings
}

// remember warns about releases that were rolled back before. It does nothing if the user may not read the records.
func (s *session) remember(ctx context.Context, p *Plan) {
	if !p.Changes() {
		return
	}
	known, err := s.records.known(ctx)
	if err != nil {
		return
	}
	for _, lib := range p.libs {
		r, ok := known[releaseOf(lib).field()]
		if !ok || r.RolledBack == nil {
			continue
		}
		p.Warnings = append(p.Warnings, warning("rolled_back",
			fmt.Sprintf("%s %s was rolled back to %s on %s by %s; a deploy loads it again", lib.ServerName, lib.Version, r.RolledBack.To, clockTime(r.RolledBack.At), r.RolledBack.By), ""))
	}
}
