package loader

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/loader/internal/bundle"
)

// RetirementFormat is the version of a Retirement's JSON.
const RetirementFormat = 1

// A Retirement is the plan of removing a library from every node, with the clients that use it.
type Retirement struct {
	Format  int              `json:"format"`
	Library string           `json:"library"` // the server name, "ratelimit_v1"
	Nodes   []NodeRetirement `json:"nodes"`
	// Clients announced within the last 15 minutes that they use the library, in any database.
	Clients []Client `json:"clients"`
	// Warnings name what Clients may lack: services that do not announce themselves.
	Warnings []Warning `json:"warnings,omitempty"`

	tombstone *fcall.Library // the replacement; nil if the library is unknown
}

// A NodeRetirement is a Retirement for one node.
type NodeRetirement struct {
	Node
	Action   RetireAction `json:"action"`
	Version  string       `json:"version,omitempty"`
	Digest   string       `json:"digest,omitempty"`
	Problem  *Error       `json:"problem,omitempty"` // of RetireUnusable
	Warnings []Warning    `json:"warnings,omitempty"`
}

// A RetireAction is the step of a retire on one node.
type RetireAction string

// The actions.
const (
	RetireDelete   RetireAction = "delete"          // a tombstone replaces the library
	RetireBar      RetireAction = "bar"             // the library is missing; a tombstone keeps clients from loading it
	RetireMissing  RetireAction = "already_missing" // the library is missing, or already retired
	RetireForeign  RetireAction = "conflict"        // another library has the name, and stays
	RetireFollow   RetireAction = "follow"          // the node is a replica
	RetireUnusable RetireAction = "unusable"        // the node cannot be read or written
)

// PlanRetire returns which nodes hold the library, and its recent clients. It changes nothing.
func (t *Target) PlanRetire(ctx context.Context, serverName string) (*Retirement, error) {
	s, err := t.open(ctx, true)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return s.planRetire(ctx, s.check(ctx), serverName)
}

func (s *session) planRetire(ctx context.Context, states []NodeState, serverName string) (*Retirement, error) {
	if serverName == "" || strings.ContainsFunc(serverName, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		return nil, &Error{Op: "retire", Library: serverName, Reason: ErrLibrary, Text: "invalid library name; use a name on the server, for example ratelimit_v1"}
	}
	r := &Retirement{Format: RetirementFormat, Library: serverName, Nodes: make([]NodeRetirement, len(states))}
	now, err := s.records.now(ctx)
	if err != nil {
		return nil, err
	}
	if r.tombstone, err = s.records.tombstoneFor(ctx, states, serverName, now); err != nil {
		return nil, err
	}
	for i, state := range states {
		r.Nodes[i] = retirementOf(state, serverName, r.tombstone != nil)
	}
	clients, err := s.records.clients(ctx, now.Add(-seenFor))
	if err != nil {
		return nil, err
	}
	if len(clients) == 0 {
		r.Warnings = append(r.Warnings, Warning{
			Code: "no_announcements",
			Text: "no service has announced itself within a day (loader.Announce), so clients of " + serverName + " are unknown: if there are any, their calls will fail",
		})
	}
	r.Clients = slices.DeleteFunc(clients, func(c Client) bool { return c.Library != serverName || c.Seen.Before(now.Add(-inUse)) })
	return r, nil
}

// tombstoneFor returns the tombstone of a library that a node holds or that is recorded. It returns nil for other names, which
// may be typing errors.
func (rec records) tombstoneFor(ctx context.Context, states []NodeState, serverName string, now time.Time) (*fcall.Library, error) {
	if l := present(states, serverName); l != nil && l.ours() {
		return tombstone(l.Name, serverName, l.Version, now), nil
	}
	for _, state := range states {
		if l := named(state.Libraries, serverName); l != nil && l.ours() && state.Follows == "" {
			return &fcall.Library{Name: l.Name, Version: l.Version, ServerName: serverName, Code: l.Code}, nil
		}
	}
	all, err := rec.releases(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, newestFirst)
	if i := slices.IndexFunc(all, func(r Release) bool { return r.Library == serverName }); i >= 0 {
		return tombstone(all[i].Name, serverName, all[i].Version, now), nil
	}
	return nil, nil
}

// retirementOf returns the step of a node. With bar, a node without the library gets a tombstone too.
func retirementOf(state NodeState, serverName string, bar bool) NodeRetirement {
	n := NodeRetirement{Node: state.Node, Action: RetireMissing, Warnings: state.Warnings}
	switch found := named(state.Libraries, serverName); {
	case found == nil && bar:
		n.Action = RetireBar
	case found == nil || found.ours() && !found.Retired.IsZero():
	case found.ours():
		n.Action, n.Version, n.Digest = RetireDelete, found.Version, found.Digest
	default:
		n.Action, n.Version, n.Digest = RetireForeign, found.Version, found.Digest
	}
	switch {
	case state.Follows != "":
		switch n.Action {
		case RetireDelete:
			n.Action = RetireFollow
		case RetireBar:
			n.Action = RetireMissing
		}
		if state.Problem != nil {
			n.Warnings = append(slices.Clone(n.Warnings), unseen(state))
		}
	case !state.Readable || n.changes() && state.Problem != nil:
		n.Action, n.Problem = RetireUnusable, state.Problem
	}
	return n
}

func (n NodeRetirement) changes() bool { return n.Action == RetireDelete || n.Action == RetireBar }

// ours reports whether rlfunc generated the library for its server name.
func (l LoadedLibrary) ours() bool {
	return l.Name != "" && strings.HasPrefix(l.ServerName, l.Name+"_v")
}

// Changes reports whether a node holds the library, or lacks its tombstone.
func (r *Retirement) Changes() bool { return slices.ContainsFunc(r.Nodes, NodeRetirement.changes) }

// Err returns why the library cannot be retired, even with Force, or nil.
func (r *Retirement) Err() error {
	for _, n := range r.Nodes {
		switch n.Action {
		case RetireForeign:
			return &Error{
				Op: "retire", Library: r.Library, Node: n.Addr, Reason: ErrConflict,
				Text: "the library of that name was not generated by rlfunc; nothing was deleted; remove it with FUNCTION DELETE",
			}
		case RetireUnusable:
			return n.Problem.at("retire", r.Library)
		}
	}
	return nil
}

// InUse returns the ErrInUse of a Retire without Force, or nil.
func (r *Retirement) InUse() error {
	if len(r.Clients) == 0 {
		return nil
	}
	last := r.Clients[0]
	for _, c := range r.Clients {
		if c.Seen.After(last.Seen) {
			last = c
		}
	}
	who := "1 client of it was"
	if n := len(r.Clients); n > 1 {
		who = fmt.Sprintf("%d clients of it were", n)
	}
	return &Error{
		Op: "retire", Library: r.Library, Reason: ErrInUse,
		Text: fmt.Sprintf("%s seen in the last 15 minutes, the last one %s (%s) at %s; nothing was deleted; stop them, or use force, which makes their calls fail",
			who, last.Instance, last.Version, clockTime(last.Seen)),
	}
}

func tombstone(name, serverName, version string, now time.Time) *fcall.Library {
	return &fcall.Library{Name: name, Version: version, ServerName: serverName, Code: bundle.Tombstone(name, serverName, version, now)}
}
