package loader

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/internal/servers"
)

// A Severity ranks a warning.
type Severity string

// The severities. A Problem exists now, a Warn may become one, a Note is information.
const (
	Problem Severity = "problem"
	Warn    Severity = "warning"
	Note    Severity = "note"
)

// A Warning is a problem or a risk, and its fix. A plan has those that matter to a deploy, and [Target.Status] all.
type Warning struct {
	ID       string   `json:"id"` // "not_persistent"
	Severity Severity `json:"severity"`
	Node     string   `json:"node,omitempty"` // of a status: "127.0.0.1:7001"; empty for the target as a whole
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
	// ahead is the node's clock less this machine's, if it could be read, and uncertainty is half of the round trip.
	ahead, uncertainty time.Duration
	// open reports whether a client without a password may run all commands.
	open bool
}

// replication says what is wrong with the node's part in replication, which a deploy should know.
func (f facts) replication() (found []Warning) {
	if f.state.Follows != "" && f.role == Primary {
		found = append(found, warning("role_differs",
			"the topology lists it as a replica of "+f.state.Follows+", and it says that it is a primary: a failover may be in progress", "plan again when it is over"))
	}
	if f.info["master_link_status"] == "down" {
		found = append(found, Warning{
			ID: "replica_link_down", Severity: Problem, Fix: "see the server's log; when the link is up again, run rlfunc plan",
			Text: "this replica has no connection to its primary " + f.state.Server.Primary + ": deploys do not reach it, and if it is promoted it may lack libraries",
		})
	}
	return found
}

// server says what is wrong with the server's configuration, state and version.
func (f facts) server() (found []Warning) {
	add := func(wrong bool, severity Severity, id, text, fix string) {
		if wrong {
			found = append(found, Warning{ID: id, Severity: severity, Text: text, Fix: fix})
		}
	}
	primary := f.state.Follows == "" && f.state.Server.Kind != servers.Embedded
	save, known := f.config["save"]
	add(primary && f.info["aof_enabled"] == "0" && known && strings.Trim(save, `" `) == "", Warn, "not_persistent",
		"neither snapshots nor the append-only file are on (save is empty, appendonly is no): a restart loses the libraries",
		"turn one of them on, or deploy after each start")
	policy := f.info["maxmemory_policy"]
	add(primary && cmp.Or(f.info["maxmemory"], "0") != "0" && policy != "" && policy != "noeviction", Warn, "eviction",
		"with maxmemory-policy "+policy+" a full server evicts keys of the functions, which resets limits", "use noeviction")
	add(f.info["arch_bits"] == "32", Problem, "bits",
		"it is a 32-bit build: Lua's %d truncates numbers above 2^31, so times and amounts that libraries store are wrong", "run a 64-bit build")
	add(f.info["rdb_last_bgsave_status"] == "err" || f.info["aof_last_write_status"] == "err", Warn, "not-saving",
		"the last snapshot or the last write to the append-only file failed: the server may refuse writes, and with them most calls (MISCONF)", "see the server's log and the disk")
	add(f.ahead.Abs()-f.uncertainty >= time.Second, Warn, "clock",
		fmt.Sprintf("its clock differs by %+.1f s from this machine's: after a failover windows are longer or shorter by the difference", f.ahead.Seconds()),
		"run an NTP client on the server (and on this machine)")
	add(f.open && f.config["protected-mode"] != "yes", Warn, "open",
		"any client that reaches the port may run every command without a password: replace functions, reset limits",
		"give the default user a password or switch it off, and each job its own user (rlfunc acl)")
	return found
}

// gather reads the facts of a node that has answered. It asks no more of a node that has stopped answering.
func (n *node) gather(ctx context.Context, state NodeState) facts {
	f := facts{state: state, role: n.answer.role, info: n.answer.info, config: map[string]string{}}
	for _, name := range []string{"save", "protected-mode"} {
		value, err := n.client.ConfigGet(ctx, name).Result()
		if err != nil && !isReply(err) {
			return f
		}
		maps.Copy(f.config, value)
	}
	sent := time.Now()
	if at, err := n.client.Time(ctx).Result(); err == nil {
		f.uncertainty = time.Since(sent) / 2
		f.ahead = at.Sub(sent.Add(f.uncertainty))
	}
	user, _ := n.client.Do(ctx, "ACL", "GETUSER", "default").Result()
	commands, _ := fieldMap(user)["commands"].(string)
	flags, _ := fieldMap(user)["flags"].([]any)
	f.open = slices.Contains(flags, any("on")) && slices.Contains(flags, any("nopass")) && strings.HasPrefix(commands, "+@all")
	return f
}

// examine adds the warnings of a plan, or all, to the states of nodes and to the session. It only reads, and skips what the user may not read.
func (s *session) examine(ctx context.Context, states []NodeState, all bool) {
	s.warnings = append(s.warnings, versionsDiffer(states)...)
	onEach(s.nodes, func(i int, n *node) {
		state := &states[i]
		switch {
		case state.Server == (Server{}): // each question to a silent node would take its whole time
		case all:
			f := n.gather(ctx, *state)
			state.Warnings = slices.Concat(state.Warnings, f.replication(), f.server())
		case state.Readable:
			state.Warnings = append(state.Warnings, facts{state: *state, role: n.answer.role, info: n.answer.info}.replication()...)
		}
	})
}

// A Status is what every node holds, what is wrong, and who uses it.
type Status struct {
	Nodes    []NodeState `json:"nodes"`
	Releases []Release   `json:"releases"`
	Clients  []Client    `json:"clients"`
	Findings []Warning   `json:"findings"` // problems, then warnings, then notes; those of nodes, too
}

// Status reads every node, the records and the connected clients, and looks for what is wrong or may become so. It changes nothing. What
// the user may not read is a finding or left out; the error is about the whole target.
func (t *Target) Status(ctx context.Context) (*Status, error) {
	s, err := t.open(ctx, true)
	if err != nil {
		return nil, err
	}
	defer s.close()
	r := &Status{Nodes: s.check(ctx), Releases: []Release{}}
	s.examine(ctx, r.Nodes, true)
	var unknown []Warning
	r.Clients, unknown = s.clients(ctx)
	r.Findings = slices.Concat(s.warnings, unknown, apart(r.Nodes))
	if slices.ContainsFunc(r.Nodes, func(n NodeState) bool { return n.Readable }) {
		releases, err := s.records.releases(ctx)
		current, currentErr := s.records.current(ctx)
		if err := cmp.Or(err, currentErr); err != nil {
			r.Findings = append(r.Findings, warning("records", oneLine(err.Error()), ""))
		}
		r.Releases = append(r.Releases, releases...)
		for _, name := range slices.Sorted(maps.Keys(current)) {
			if d := current[name]; !d.ended {
				r.Findings = append(r.Findings, warning("unfinished", name+": "+d.String()+", has not ended", "if its process is gone, run it again"))
			}
		}
	}
	for i, n := range r.Nodes {
		found := n.Warnings
		if n.Problem != nil {
			w := Warning{ID: string(n.Problem.Reason), Severity: Problem, Text: n.Problem.Text, Fix: "correct this, then run rlfunc status again"}
			if n.Readable && n.Problem.Reason == ErrNoPermission {
				w.Severity, w.Fix = Note, "deploy as another user"
			}
			found = append(found, w)
		}
		for _, w := range found {
			w.Node = n.Addr
			r.Findings = append(r.Findings, w)
		}
		r.Nodes[i].Warnings = nil
	}
	rank := []Severity{Problem, Warn, Note}
	slices.SortStableFunc(r.Findings, func(a, b Warning) int {
		return cmp.Or(cmp.Compare(slices.Index(rank, a.Severity), slices.Index(rank, b.Severity)), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Text, b.Text))
	})
	return r, nil
}

// apart lists the nodes that lack the highest version that a primary holds of a library.
func apart(nodes []NodeState) (found []Warning) {
	names := map[string]bool{}
	for _, n := range nodes {
		for _, l := range n.Libraries {
			names[l.ServerName] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		highest := present(nodes, name)
		if highest == nil {
			continue
		}
		for _, n := range nodes {
			s, fix := compare(highest.library(), n.Libraries), "rlfunc deploy"
			if n.Follows != "" {
				fix = "if " + n.Follows + " has it, this replica lags, or its replication is broken: see INFO replication on both"
			}
			if n.Readable && s.State != Same {
				found = append(found, Warning{
					ID: "nodes_differ", Severity: Problem, Node: n.Addr, Text: "of " + name + " it holds " + describe(s) + ", and another node holds " + highest.Version, Fix: fix,
				})
			}
		}
	}
	return found
}

// versionsDiffer warns about nodes that run different servers.
func versionsDiffer(states []NodeState) []Warning {
	kinds := map[string]bool{}
	for _, s := range states {
		if s.Server.Version != "" {
			kinds[s.Server.String()] = true
		}
	}
	if len(kinds) < 2 {
		return nil
	}
	return []Warning{warning("versions_differ",
		"the nodes run "+strings.Join(slices.Sorted(maps.Keys(kinds)), " and ")+": functions may behave differently on them, and a replica of an older version than its primary cannot always replicate",
		"upgrade the older ones")}
}
