package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/connection"
	"github.com/rlfunc/rlfunc/codegen/breaking"
	"github.com/rlfunc/rlfunc/loader"
)

// A contractChange is what a plan changes for clients and for stored state.
type contractChange struct {
	Contract []breaking.Finding `json:"contract,omitempty"`        // what breaks callers or stored state, and notes
	Clients  []loader.Client    `json:"clients,omitempty"`         // connected ones of the libraries that break
	Unknown  []loader.Warning   `json:"clients_unknown,omitempty"` // the nodes that do not tell who is connected
}

// breaks reports whether a deploy must not make the change: clients that run now, or what they have stored, would break.
func (c *contractChange) breaks() bool { return slices.ContainsFunc(c.Contract, breaksRunning) }

func breaksRunning(f breaking.Finding) bool {
	return !f.Note && (f.Category == breaking.Call || f.Category == breaking.State)
}

// contractChange compares after, the source of what the plan loads, with what it replaces on the nodes. Where it adds a library, it compares
// with what the nodes hold of it: other major versions, which keep their state in the same keys, and a higher version on other primaries.
// drifted says that the plan replaces drifted libraries, too. Beside an error the change is empty.
func (a *app) contractChange(
	ctx context.Context, target *connection.Target, plan *loader.Plan, after *breaking.Snapshot, drifted bool,
) (*contractChange, error) {
	replaced := map[string]*loader.Error{} // by digest: the error if it is not there any more
	added := map[string]bool{}             // server names
	newer := map[string]bool{}             // digests of what stays
	for _, n := range plan.Nodes {
		for _, s := range n.Steps {
			switch {
			case s.Action == loader.Load:
				added[s.Library] = true
			case s.State == loader.Newer && s.Action == "":
				newer[s.FromDigest] = true
			case s.Changes() || s.State == loader.Drifted && s.Blocks() && drifted:
				replaced[s.FromDigest] = &loader.Error{
					Op: "compare", Library: s.Library, Node: n.Addr, Reason: loader.ErrChanged,
					Text: "no node holds what the plan found any more, or it no longer answers; nothing was loaded; plan again",
				}
			}
		}
	}
	c := &contractChange{Contract: []breaking.Finding{}}
	if len(replaced)+len(added) == 0 {
		return c, nil
	}
	nodes := plan.States
	if nodes == nil { // the plan was saved
		var err error
		if nodes, err = target.Check(ctx); err != nil {
			return c, err
		}
	}
	missing := maps.Clone(replaced)
	before, err := held(target.Name, nodes, func(l loader.LoadedLibrary) bool {
		if _, ok := replaced[l.Digest]; ok {
			delete(missing, l.Digest)
			return true
		}
		beside := slices.ContainsFunc(plan.Libraries, func(p loader.PlannedLibrary) bool {
			return p.Name == l.Name && added[p.ServerName] && (p.ServerName != l.ServerName || newer[l.Digest])
		})
		return beside && serverLibrary.MatchString(l.ServerName)
	})
	if err != nil {
		return c, fmt.Errorf("%w; to replace it without knowing what that breaks, give deploy --allow-breaking", err)
	}
	for _, gone := range missing {
		return c, gone
	}
	c.Contract = orEmpty(slices.DeleteFunc(breaking.Compare(before, onlyLibraries(after, before)), func(f breaking.Finding) bool {
		return f.Category == breaking.Version && plan.Op == loader.OpRollback
	}))
	if c.breaks() {
		if c.Clients, c.Unknown, err = target.Clients(ctx); err != nil {
			return c, err
		}
		c.Clients = slices.DeleteFunc(c.Clients, func(client loader.Client) bool {
			return !slices.ContainsFunc(c.Contract, func(f breaking.Finding) bool {
				return breaksRunning(f) && strings.HasPrefix(client.Library, f.Library+"_v")
			})
		})
	}
	return c, nil
}

// printChange prints the findings, first those that a deploy refuses, with the clients that they break.
func (a *app) printChange(w io.Writer, c *contractChange) error {
	for _, part := range []struct {
		title  string
		breaks bool
	}{{"Breaking changes", true}, {"Contract changes", false}} {
		title := "\n" + part.title + ":\n"
		for _, f := range c.Contract {
			if breaksRunning(f) == part.breaks {
				if _, err := fmt.Fprintf(w, "%s  %s\n", title, f); err != nil {
					return err
				}
				title = ""
			}
		}
	}
	if c.breaks() && len(c.Clients)+len(c.Unknown) == 0 {
		a.note("no connected client says that it uses what breaks; Go services say it by IdentitySuffix: fcall.Identity(...) in redis.Options")
	}
	a.warn("", c.Unknown)
	return printClients(w, c.Clients)
}

// refuseBreaking lists what a deploy would break, and refuses it.
func (a *app) refuseBreaking(c *contractChange) error {
	show := func() error { return a.printChange(a.out, c) }
	if a.json {
		show = func() error { return a.printJSON(c) }
	}
	if err := show(); err != nil {
		return err
	}
	fmt.Fprintln(a.err, "rlfunc: this deploy would break running clients or their state; nothing was loaded; raise the major version, "+
		"so that both run side by side, or give --allow-breaking if nothing runs that it breaks")
	return exitBreaking
}
