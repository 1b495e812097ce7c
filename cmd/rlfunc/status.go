package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/loader"
)

func (a *app) statusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "List the libraries that the server holds, their releases and who uses them",
		Long: `Lists every node with its server, and every library that it holds: version, functions, and the digest of its bytes. Then the
releases that deploys have recorded, the clients that were seen within a day (services that call loader.Announce), and who
holds the lock of a deploy.`,
		Example: "  rlfunc status --redis redis://127.0.0.1:6379\n  rlfunc status --redis redis://127.0.0.1:6379 --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.status(cmd.Context())
		},
	}
	return a.withTarget(a.withChannel(cmd))
}

func (a *app) status(ctx context.Context) error {
	target, err := a.openTarget()
	if err != nil {
		return err
	}
	defer target.close()
	nodes, err := target.Check(ctx)
	if err != nil {
		return err
	}
	a.onlyChannel(nodes)
	// Who may not read the records still sees the libraries.
	releases, releasesErr := target.Releases(ctx)
	clients, clientsErr := target.Clients(ctx)
	locks, locksErr := target.Locks(ctx)
	if a.channel != "" {
		releases = slices.DeleteFunc(releases, func(r loader.Release) bool { return a.named(r.Library) != r.Library })
		clients = slices.DeleteFunc(clients, func(c loader.Client) bool { return a.named(c.Library) != c.Library })
	}
	if a.json {
		if err := a.printJSON(map[string]any{"format": 1, "nodes": nodes, "releases": releases, "clients": clients, "locks": locks}); err != nil {
			return err
		}
	} else {
		a.printStatus(nodes)
		a.printReleases(releases)
		a.printClients(clients)
		for _, l := range locks {
			a.talk("%s has held the lock%s since %s for a %s; it expires at %s unless it is renewed", l.By, onNode(l.Node), stamp(l.Since), l.Op, stamp(l.Expires))
		}
	}
	if slices.ContainsFunc(nodes, func(n loader.NodeState) bool { return n.Readable }) {
		if err := cmp.Or(releasesErr, clientsErr, locksErr); err != nil {
			a.talk("warning: %v", err)
		}
	}
	var problems []error
	for _, node := range nodes {
		if node.Problem != nil && !node.Readable {
			problems = append(problems, node.Problem)
		}
	}
	return errors.Join(problems...)
}

func (a *app) printStatus(nodes []loader.NodeState) {
	var rows [][]string
	for _, node := range nodes {
		a.warn(node.Addr, node.Warnings)
		if node.Problem != nil && node.Readable {
			a.talk("warning: %v", node.Problem)
		}
		if len(node.Libraries) == 0 && node.Readable {
			rows = append(rows, []string{node.Addr, string(node.Role), node.Server.String(), "none", "", "", ""})
		}
		for _, lib := range node.Libraries {
			version, functions := lib.Version, shortNames(lib)
			switch {
			case lib.Name == "":
				version = "not ours"
			case !lib.Retired.IsZero():
				version, functions = "retired", "since "+stamp(lib.Retired)
			}
			rows = append(rows, []string{node.Addr, string(node.Role), node.Server.String(), lib.ServerName, version, lib.Digest[:12], functions})
		}
	}
	printTable(a.out, []string{"node", "role", "server", "library", "version", "digest", "functions"}, rows)
}

// printReleases lists what can be rolled back to.
func (a *app) printReleases(releases []loader.Release) {
	var rows [][]string
	for _, r := range releases {
		deployed, note := stamp(r.Deployed), ""
		if r.Deployed.IsZero() {
			deployed, note = "found "+stamp(r.Recorded), "loaded by something else"
		}
		if r.RolledBack != nil {
			note = fmt.Sprintf("rolled back to %s on %s by %s", r.RolledBack.To, stamp(r.RolledBack.At), r.RolledBack.By)
		}
		replaced, _, _ := strings.Cut(r.Replaced, "@")
		rows = append(rows, []string{r.Library, r.Version, r.Digest[:12], deployed, r.By, replaced, note})
	}
	a.nextTable([]string{"release of", "version", "digest", "deployed", "by", "replaced", ""}, rows)
}

// printClients counts the clients of each version.
func (a *app) printClients(clients []loader.Client) {
	type use struct{ library, version string }
	count, seen := map[use]int{}, map[use]time.Time{}
	var order []use
	for _, c := range clients {
		u := use{c.Library, c.Version}
		if count[u] == 0 {
			order = append(order, u)
		}
		count[u]++
		if c.Seen.After(seen[u]) {
			seen[u] = c.Seen
		}
	}
	var rows [][]string
	for _, u := range order {
		rows = append(rows, []string{u.library, u.version, strconv.Itoa(count[u]), stamp(seen[u])})
	}
	a.nextTable([]string{"clients of", "version", "processes", "last seen"}, rows)
}

// nextTable prints a table below another one.
func (a *app) nextTable(head []string, rows [][]string) {
	if len(rows) > 0 {
		fmt.Fprintln(a.out)
	}
	printTable(a.out, head, rows)
}

// shortNames are a library's functions, without its own name before each.
func shortNames(lib loader.LoadedLibrary) string {
	names := make([]string, len(lib.Functions))
	for i, name := range lib.Functions {
		names[i] = strings.TrimPrefix(name, lib.ServerName+"_")
	}
	return strings.Join(names, " ")
}
