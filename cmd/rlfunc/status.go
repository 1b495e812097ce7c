package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/connection"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/output"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/usage"
	"github.com/rlfunc/rlfunc/loader"
)

func (a *app) statusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "List the libraries on every node, their releases and their clients",
		Long: `Lists every node with its server and its libraries: version, functions, and a digest of the bytes. It
also lists the recorded releases, the services that announced themselves in the last day, and the
locks of running deploys.`,
		Example: "  rlfunc status --redis redis://127.0.0.1:6379\n  rlfunc status --redis redis://127.0.0.1:6379 --json",
		Args:    usage.None,
		RunE:    a.onTarget(a.status),
	}
	return a.withTarget(a.withChannel(cmd))
}

func (a *app) status(ctx context.Context, target *connection.Target, _ []string) error {
	nodes, err := target.Check(ctx)
	if err != nil {
		return err
	}
	if a.channel != "" {
		for i := range nodes {
			nodes[i].Libraries = slices.DeleteFunc(nodes[i].Libraries, func(l loader.LoadedLibrary) bool {
				return l.Name == "" || a.inChannel(l.ServerName) != l.ServerName
			})
		}
	}
	// A user without the right to read the records still sees the libraries.
	releases, releasesErr := target.Releases(ctx)
	clients, clientsErr := target.Clients(ctx)
	lock, lockErr := target.Lock(ctx)
	locks := []*loader.Lock{}
	if lock != nil {
		locks = append(locks, lock)
	}
	if a.channel != "" {
		releases = slices.DeleteFunc(releases, func(r loader.Release) bool { return a.inChannel(r.Library) != r.Library })
		clients = slices.DeleteFunc(clients, func(c loader.Client) bool { return a.inChannel(c.Library) != c.Library })
	}
	err = a.print(map[string]any{"nodes": nodes, "releases": releases, "clients": clients, "locks": locks}, func() error {
		err := errors.Join(a.printStatus(nodes), a.printReleases(releases), a.printClients(a.out, clients))
		for _, l := range locks {
			a.note("%s has held the lock since %s for a %s; it expires at %s unless renewed", l.By, output.Time(l.Since), l.Op, output.Time(l.Expires))
		}
		return err
	})
	if err != nil {
		return err
	}
	if slices.ContainsFunc(nodes, func(n loader.NodeState) bool { return n.Readable }) {
		if err := cmp.Or(releasesErr, clientsErr, lockErr); err != nil {
			a.warnf("%v", err)
		}
	}
	return nodeProblems(nodes, func(n loader.NodeState) *loader.Error {
		if n.Readable {
			return nil
		}
		return n.Problem
	})
}

func (a *app) printStatus(nodes []loader.NodeState) error {
	var rows [][]string
	for _, node := range nodes {
		a.warn(node.Addr, node.Warnings)
		if node.Problem != nil && node.Readable {
			a.warnf("%v", node.Problem)
		}
		if len(node.Libraries) == 0 && node.Readable {
			rows = append(rows, []string{node.Addr, string(node.Role), node.Server.String(), "none", "", "", ""})
		}
		for _, lib := range node.Libraries {
			version, functions := lib.Version, shortNames(lib)
			switch {
			case lib.Name == "":
				version = "foreign"
			case !lib.Retired.IsZero():
				version, functions = "retired", "since "+output.Time(lib.Retired)
			}
			rows = append(rows, []string{node.Addr, string(node.Role), node.Server.String(), lib.ServerName, version, lib.Digest[:12], functions})
		}
	}
	return a.table([]string{"node", "role", "server", "library", "version", "digest", "functions"}, rows)
}

// printReleases lists the releases that a rollback can restore.
func (a *app) printReleases(releases []loader.Release) error {
	var rows [][]string
	for _, r := range releases {
		deployed, note := output.Time(r.Deployed), ""
		if r.Deployed.IsZero() {
			deployed, note = "found "+output.Time(r.Recorded), "loaded by another tool"
		}
		if r.RolledBack != nil {
			note = fmt.Sprintf("rolled back to %s on %s by %s", r.RolledBack.To, output.Time(r.RolledBack.At), r.RolledBack.By)
		}
		replaced, _, _ := strings.Cut(r.Replaced, "@")
		rows = append(rows, []string{r.Library, r.Version, r.Digest[:12], deployed, r.By, replaced, note})
	}
	return nextTable(a.out, []string{"release of", "version", "digest", "deployed", "by", "replaced", ""}, rows)
}

// printClients counts the processes of each service that run a version. Clients are sorted by these.
func (a *app) printClients(w io.Writer, clients []loader.Client) error {
	var rows [][]string
	for len(clients) > 0 {
		all, instances := clients[0], map[string]bool{}
		for len(clients) > 0 {
			c := clients[0]
			if c.Library != all.Library || c.Version != all.Version || c.Service != all.Service || c.Language != all.Language {
				break
			}
			instances[c.Instance] = true
			if c.Since.Before(all.Since) {
				all.Since = c.Since
			}
			if c.Seen.After(all.Seen) {
				all.Seen = c.Seen
			}
			clients = clients[1:]
		}
		rows = append(rows, []string{all.Library, all.Version, all.Service, all.Language, strconv.Itoa(len(instances)), output.Time(all.Since), output.Time(all.Seen)})
	}
	return nextTable(w, []string{"clients of", "version", "service", "language", "processes", "since", "last seen"}, rows)
}

// nextTable prints a table below another one.
func nextTable(w io.Writer, head []string, rows [][]string) error {
	if len(rows) > 0 {
		fmt.Fprintln(w)
	}
	return output.Table(w, head, rows, nil)
}

// shortNames lists a library's functions without the library's name.
func shortNames(lib loader.LoadedLibrary) string {
	names := make([]string, len(lib.Functions))
	for i, name := range lib.Functions {
		names[i] = strings.TrimPrefix(name, lib.ServerName+"_")
	}
	return strings.Join(names, " ")
}
