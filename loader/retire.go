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

// PlanRetire returns a plan that removes a library from every node, and the recent clients of it. It changes nothing;
// [Target.Apply] executes the plan, and refuses with ErrInUse while there are such clients. It removes nothing that rlfunc did not
// generate. It records the source first, so PlanRollback with To restores it, and deletes the records of other releases.
//
// A tombstone replaces the library: a small library of the same name that serves no calls. The server then refuses every load
// without REPLACE, such as those of [Ensure] and of clients. A deploy or a rollback replaces the tombstone. FUNCTION FLUSH,
// FUNCTION DELETE and a restart without persistence remove it like any library; retire again to restore it.
func (t *Target) PlanRetire(ctx context.Context, serverName string) (*Plan, error) {
	if serverName == "" || strings.ContainsFunc(serverName, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		return nil, &Error{Op: "retire", Library: serverName, Reason: ErrLibrary, Text: "invalid library name; use a name on the server, for example ratelimit_v1"}
	}
	s, err := t.open(ctx, true)
	if err != nil {
		return nil, err
	}
	defer s.close()
	states := s.check(ctx)
	now, err := s.records.now(ctx)
	if err != nil {
		return nil, err
	}
	tombstone, err := s.records.tombstoneFor(ctx, states, serverName, now)
	if err != nil {
		return nil, err
	}
	p := planFor(states, []*fcall.Library{tombstone}, OpRetire)
	return p, s.records.readClients(ctx, p)
}

// readClients sets the clients of a retire's plan.
func (rec records) readClients(ctx context.Context, p *Plan) error {
	now, err := rec.now(ctx)
	if err != nil {
		return err
	}
	clients, err := rec.clients(ctx, now.Add(-seenFor))
	if err != nil {
		return err
	}
	library := p.Libraries[0].ServerName
	if len(clients) == 0 {
		p.Warnings = append(p.Warnings, warning("no_announcements",
			"no service has announced itself within a day, so clients of "+library+" are unknown: if there are any, their calls will fail", ""))
	}
	p.Clients = slices.DeleteFunc(clients, func(c Client) bool { return c.Library != library || c.Seen.Before(now.Add(-inUse)) })
	return nil
}

// tombstoneFor returns the tombstone of a library that a node holds or that is recorded. For other names, which may be typing
// errors, it has no code.
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
	return &fcall.Library{ServerName: serverName}, nil
}

func tombstone(name, serverName, version string, now time.Time) *fcall.Library {
	return &fcall.Library{Name: name, Version: version, ServerName: serverName, Code: bundle.Tombstone(name, serverName, version, now)}
}

// InUse returns the ErrInUse of a retire without Force, or nil.
func (p *Plan) InUse() error {
	if len(p.Clients) == 0 {
		return nil
	}
	last := p.Clients[0]
	for _, c := range p.Clients {
		if c.Seen.After(last.Seen) {
			last = c
		}
	}
	who := "1 client of it was"
	if n := len(p.Clients); n > 1 {
		who = fmt.Sprintf("%d clients of it were", n)
	}
	return &Error{
		Op: "retire", Library: p.Libraries[0].ServerName, Reason: ErrInUse,
		Text: fmt.Sprintf("%s seen in the last 15 minutes, the last one %s at %s; nothing was deleted; stop them, or give --force, which makes their calls fail",
			who, last, clockTime(last.Seen)),
	}
}

// inUseBy names the clients of a forced retire, for its event.
func inUseBy(clients []Client) []string {
	var names []string
	for i, c := range clients {
		if i == keptForced {
			return append(names, fmt.Sprintf("and %d more", len(clients)-i))
		}
		names = append(names, c.String())
	}
	return names
}
