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
	"github.com/rlfunc/rlfunc/internal/terminal"
	"github.com/rlfunc/rlfunc/loader"
)

func (a *app) statusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what every node holds, who uses it, and what is wrong",
		Long: `Lists every node with its server and its libraries: version, functions, and a digest of the bytes; the
recorded releases; and the connected clients that say which libraries they use (fcall.Identity).

Below that it says what is wrong, or may become so, with a fix for each: nodes that differ, what a
restart would lose, and the configuration. A problem must be fixed now, a warning may become one, and
a note is only information. Nothing is changed.

The exit code is 0 without a problem, 2 with one, and 1 if a node cannot be read.`,
		Example: "  rlfunc status --redis redis://127.0.0.1:6379\n  rlfunc status --redis redis://127.0.0.1:6379 --json",
		Args:    noArguments,
		RunE:    a.onTarget(a.status),
	}
	return a.withTarget(cmd)
}

func (a *app) status(ctx context.Context, target *connection.Target, _ []string) error {
	s, err := target.Status(ctx)
	if err != nil {
		return err
	}
	err = a.print(s, func() error {
		return errors.Join(a.printNodes(s.Nodes), a.printReleases(s.Releases), printClients(a.out, s.Clients), a.printFindings(s))
	})
	if err != nil {
		return err
	}
	bad := slices.ContainsFunc(s.Findings, func(f loader.Warning) bool { return f.Severity == loader.Problem })
	return reporting(bad, nodeProblems(s.Nodes, func(n loader.NodeState) *loader.Error {
		if n.Readable {
			return nil
		}
		return n.Problem
	}))
}

func (a *app) printNodes(nodes []loader.NodeState) error {
	var rows [][]string
	for _, node := range nodes {
		if len(node.Libraries) == 0 && node.Readable {
			rows = append(rows, []string{node.Addr, string(node.Role), node.Server.String(), "none", "", "", ""})
		}
		for _, lib := range node.Libraries {
			version := lib.Version
			if lib.Name == "" {
				version = "foreign"
			}
			rows = append(rows, []string{node.Addr, string(node.Role), node.Server.String(), lib.ServerName, version, lib.Digest[:12], shortNames(lib)})
		}
	}
	return a.table([]string{"node", "role", "server", "library", "version", "digest", "functions"}, rows)
}

// printReleases lists the releases that a rollback can restore.
func (a *app) printReleases(releases []loader.Release) error {
	var rows [][]string
	for _, r := range releases {
		replaced, _, _ := strings.Cut(r.Replaced, "@")
		rows = append(rows, []string{r.Library, r.Version, r.Digest[:12], timeText(r.At), cmp.Or(r.By, "another tool"), replaced})
	}
	return nextTable(a.out, []string{"release of", "version", "digest", "recorded", "by", "replaced"}, rows)
}

// printClients lists who uses which library, at most 20 of them.
func printClients(w io.Writer, clients []loader.Client) error {
	const most = 20
	var rows [][]string
	for i, c := range clients {
		if i == most {
			rows = append(rows, []string{fmt.Sprintf("and %d more", len(clients)-most)})
			break
		}
		rows = append(rows, []string{c.Library, c.Version, c.Name, c.Host, strconv.Itoa(c.Count)})
	}
	return nextTable(w, []string{"clients of", "version", "name", "address", "connections"}, rows)
}

// printFindings lists what is wrong. The same on several nodes is printed once.
func (a *app) printFindings(s *loader.Status) error {
	style := terminal.StyleOf(a.out)
	count := map[loader.Severity]int{}
	for i := 0; i < len(s.Findings); {
		f, nodes := s.Findings[i], []string{}
		for ; i < len(s.Findings) && s.Findings[i].ID == f.ID && s.Findings[i].Text == f.Text; i++ {
			if s.Findings[i].Node != "" {
				nodes = append(nodes, s.Findings[i].Node)
			}
		}
		if len(count) == 0 {
			fmt.Fprintln(a.out)
		}
		count[f.Severity]++
		fmt.Fprintf(a.out, "%s %s: %s\n", paintState(style, string(f.Severity)), f.ID, f.Text)
		for _, line := range [][2]string{{"on", strings.Join(nodes, ", ")}, {"fix", f.Fix}} {
			if line[1] != "" {
				fmt.Fprintf(a.out, "    %-4s %s\n", line[0], line[1])
			}
		}
	}
	return nil
}

// nextTable prints a table below another one.
func nextTable(w io.Writer, head []string, rows [][]string) error {
	if len(rows) > 0 {
		fmt.Fprintln(w)
	}
	return printTable(w, head, rows, nil)
}

// shortNames lists a library's functions without the library's name.
func shortNames(lib loader.LoadedLibrary) string {
	names := make([]string, len(lib.Functions))
	for i, name := range lib.Functions {
		names[i] = strings.TrimPrefix(name, lib.ServerName+"_")
	}
	return strings.Join(names, " ")
}
