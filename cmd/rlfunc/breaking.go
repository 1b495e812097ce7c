package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/connection"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/project"
	"github.com/rlfunc/rlfunc/codegen/breaking"
	"github.com/rlfunc/rlfunc/loader"
)

// A comparison is the flags of breaking.
type comparison struct {
	against, strictness string
	record              bool
}

func (a *app) breakingCommand() *cobra.Command {
	var c comparison
	cmd := &cobra.Command{
		Use:   "breaking",
		Short: "Find changes that break callers or stored state",
		Long: `Compares the project with an older version and prints each change that would break somebody, as
file:line:col: message (rule). The exit code is 2 if there are any; notes do not count.
` + "`rlfunc vet --explain RULE`" + ` says why a rule exists.

The older version is a folder, a git revision (write git:REV if a folder has the same name), or a
live server. Without --strictness, three things must keep working: code that is compiled against the
new clients, old clients that call the new library and read its replies, and the data that the old
library stored. --strictness call checks the last two, for a repository that has every caller;
--strictness state only the data.

A new major version runs beside the old one, so it may break callers. It may not break the state,
because both versions use the same keys.

released.sum, beside the libraries, lists the bytes of released versions. breaking checks them even
without --against, and with --record it adds the current versions if nothing breaks.`,
		Example: `  rlfunc breaking --against v1.0.0
  rlfunc breaking --against ../released --strictness call
  rlfunc breaking --against redis://127.0.0.1:6379 --json
  rlfunc breaking --against v1.0.0 --record`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains([]string{"", "call", "state"}, c.strictness) {
				return usageErrorf("--strictness must be call or state, got %q", c.strictness)
			}
			return a.breaking(cmd.Context(), c)
		},
	}
	cmd.Flags().StringVar(&c.against, "against", "", "older version: a folder, a git revision, or the URL of a server")
	cmd.Flags().StringVar(&c.strictness, "strictness", "", "check only some of it: call (running clients and stored state) or state")
	cmd.Flags().BoolVar(&c.record, "record", false, "add the versions to released.sum if nothing breaks")
	return cmd
}

func (a *app) breaking(ctx context.Context, c comparison) error {
	p, err := project.Find(a.dir)
	if err != nil {
		return err
	}
	tree, err := p.Read()
	if err != nil {
		return fmt.Errorf("read the project: %w", err)
	}
	now, err := p.Snapshot(tree)
	if err != nil {
		return err
	}
	before, err := a.before(ctx, p, now, c.against)
	if err != nil {
		return err
	}
	found := slices.DeleteFunc(breaking.Compare(before, now), func(f breaking.Finding) bool {
		return c.strictness != "" && f.Category == breaking.API || c.strictness == "state" && f.Category == breaking.Call
	})
	if err := a.printComparison(c, before, now, found); err != nil {
		return err
	}
	if breaking.Breaks(found) {
		if c.record {
			a.note("nothing was recorded")
		}
		return exitFindings
	}
	if !c.record {
		return nil
	}
	added, err := p.Record(now)
	for _, r := range added {
		a.note("recorded %s %s in %s/%s", r.Library, r.Version, now.Root, breaking.ReleasedFile)
	}
	return err
}

// onlyLibraries returns the libraries of s that other has too. A comparison reports the others as removed.
func onlyLibraries(s, other *breaking.Snapshot) *breaking.Snapshot {
	shared := *s
	shared.Libraries = slices.DeleteFunc(slices.Clone(s.Libraries), func(l breaking.Library) bool {
		return !slices.ContainsFunc(other.Libraries, func(o breaking.Library) bool { return o.Spec.Name == l.Spec.Name })
	})
	return &shared
}

// before reads the older version. Without one it returns the project itself, and only released.sum has findings.
func (a *app) before(ctx context.Context, p *project.Project, now *breaking.Snapshot, against string) (*breaking.Snapshot, error) {
	revision, named := strings.CutPrefix(against, "git:")
	switch {
	case against == "":
		return now, nil
	case named:
		return p.Revision(ctx, revision)
	case against == connection.Embedded || strings.Contains(against, "://"):
		return a.loaded(ctx, now, against)
	}
	if info, err := os.Stat(against); err == nil && info.IsDir() {
		return p.Folder(against)
	}
	return p.Revision(ctx, against)
}

// loaded reads the project's libraries from the nodes of a server.
func (a *app) loaded(ctx context.Context, now *breaking.Snapshot, url string) (*breaking.Snapshot, error) {
	conn, err := connection.Open(url, "")
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	target := conn.Target()
	defer target.Close()
	nodes, err := target.Check(ctx)
	if err != nil {
		return nil, err
	}
	for _, node := range nodes {
		if node.Problem != nil && !node.Readable {
			return nil, node.Problem
		}
	}
	out, err := held(target.Name, nodes, func(l loader.LoadedLibrary) bool {
		if !slices.ContainsFunc(now.Libraries, func(o breaking.Library) bool { return o.Spec.Name == l.Name }) {
			return false
		}
		major, _, _ := strings.Cut(l.Version, ".")
		return l.ServerName == l.Name+"_v"+major
	})
	if err != nil {
		return nil, err
	}
	if len(out.Libraries) == 0 {
		a.note("%s holds none of these libraries: nothing to compare", target.Name)
	}
	return out, nil
}

// held returns the wanted libraries of the nodes, each once, as their source: the bundle of a node contains it.
func held(name string, nodes []loader.NodeState, wanted func(loader.LoadedLibrary) bool) (*breaking.Snapshot, error) {
	out := &breaking.Snapshot{Name: name, Live: true}
	seen := map[string]bool{}
	for _, node := range nodes {
		for _, loaded := range node.Libraries {
			if seen[loaded.Digest] || !wanted(loaded) {
				continue
			}
			seen[loaded.Digest] = true
			lib, err := breaking.OfBundle(loaded.Code)
			if err != nil {
				return nil, fmt.Errorf("compare %s on %s with the source: %w", loaded.ServerName, node.Addr, err)
			}
			out.Libraries = append(out.Libraries, lib)
		}
	}
	return out, nil
}

func (a *app) printComparison(c comparison, before, now *breaking.Snapshot, found []breaking.Finding) error {
	if a.json {
		against := c.against
		if before.Live {
			against = before.Name // without a password
		}
		return a.printJSON(map[string]any{"against": against, "findings": orEmpty(found)})
	}
	var broken []string
	notes := 0
	for _, f := range found {
		if _, err := fmt.Fprintln(a.out, f); err != nil {
			return err
		}
		if f.Note {
			notes++
		} else if f.Category != breaking.Version && !slices.Contains(broken, f.Library) {
			broken = append(broken, f.Library)
		}
	}
	switch {
	case len(broken) > 0:
		a.note("%s: undo the breaking changes, or raise the major version of %s", count(len(found)-notes, "finding"), strings.Join(broken, ", "))
	case breaking.Breaks(found):
		a.note("%s", count(len(found)-notes, "finding"))
	case c.against == "" && (now.Released == nil || len(now.Released.Lines) == 0):
		if !c.record {
			a.note("nothing was compared: %s/%s lists no released version; give --against FOLDER, REVISION or URL, or record these versions with --record",
				now.Root, breaking.ReleasedFile)
		}
	case c.against == "":
		a.note("no released version has changed; to compare with another version, give --against")
	default:
		a.note("nothing breaks")
	}
	return nil
}
