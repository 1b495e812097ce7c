package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/project"
	"github.com/rlfunc/rlfunc/codegen/breaking"
	"github.com/rlfunc/rlfunc/codegen/diag"
	"github.com/rlfunc/rlfunc/loader"
)

// breakingFormat is the version of the JSON of a comparison.
const breakingFormat = 1

// A comparison is what the flags of breaking ask for.
type comparison struct {
	against    string
	strictness string
	except     []string
	reverse    bool
	record     bool
}

func (a *app) breakingCommand() *cobra.Command {
	var c comparison
	cmd := &cobra.Command{
		Use:   "breaking",
		Short: "Compare two versions of the libraries: what would break callers or stored state",
		Long: `Compares the project with an older version of it and prints what breaks somebody, one finding a line:
file:line:col: message (rule). Exit code 2 when there is one; a note is none. docs/versioning.md explains every rule.

The older version is a folder, a revision of the project's git repository (git:REV where a folder has the same name), or a
live server. The strictness says whom a change may not break; each includes those behind it:
  api     Go code that is compiled anew against the generated client
  reply   an old client that reads the replies of the new library
  call    an old client that calls the new library
  state   what the old library has stored
A library with a new major may break its callers, but not the state: both majors run on the same keys.

With --reverse it says what would break callers of the project's version if the libraries went back: look before a rollback.

Versions listed in released.sum, beside the libraries, must keep their bytes; that is looked at also without --against.
With --record the versions are added to it when nothing breaks.`,
		Example: `  rlfunc breaking --against v1.0.0
  rlfunc breaking --against ../released --strictness call
  rlfunc breaking --against redis://127.0.0.1:6379 --json
  rlfunc breaking --against v1.0.0 --record`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.breaking(cmd.Context(), c)
		},
	}
	cmd.Flags().StringVar(&c.against, "against", "", "the older version: a folder, a git revision, or the URL of a server")
	cmd.Flags().StringVar(&c.strictness, "strictness", string(breaking.API), "whom a change may not break: api, reply, call or state")
	cmd.Flags().StringSliceVar(&c.except, "except", nil, "rules to leave out")
	cmd.Flags().BoolVar(&c.reverse, "reverse", false, "look the other way: what would break if the libraries went back to that version")
	cmd.Flags().BoolVar(&c.record, "record", false, "when nothing breaks, add the versions to released.sum")
	return cmd
}

func (c comparison) check() error {
	switch {
	case c.reverse && c.record:
		return errors.New("a version that is gone back to has been recorded: give --record or --reverse, not both")
	case c.reverse && c.against == "":
		return errors.New("--reverse needs the version to go back to: --against")
	}
	if !slices.Contains(breaking.Strictnesses, breaking.Category(c.strictness)) {
		return fmt.Errorf("no strictness %q (api, reply, call, state)", c.strictness)
	}
	var ids []string
	for _, rule := range breaking.Rules {
		ids = append(ids, rule.ID)
	}
	for _, id := range c.except {
		if !slices.Contains(ids, id) {
			return fmt.Errorf("no rule %q%s (docs/versioning.md lists them)", id, diag.DidYouMean(id, ids))
		}
	}
	return nil
}

func (a *app) breaking(ctx context.Context, c comparison) error {
	if err := c.check(); err != nil {
		return err
	}
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
	from, to := before, now
	if c.reverse {
		from, to = backwards(before, now)
	}
	found := slices.DeleteFunc(breaking.Compare(from, to, breaking.Category(c.strictness)), func(f breaking.Finding) bool {
		return slices.Contains(c.except, f.Rule) || c.reverse && f.Category == breaking.Version
	})
	if err := a.printComparison(c, from, to, found); err != nil {
		return err
	}
	if breaking.Breaks(found) {
		if c.record {
			a.talk("nothing was recorded")
		}
		return exitCode(exitDifferences)
	}
	if !c.record {
		return nil
	}
	added, err := p.Record(now)
	for _, r := range added {
		a.talk("recorded %s %s in %s/%s", r.Library, r.Version, now.Root, breaking.ReleasedFile)
	}
	return err
}

// backwards swaps the versions, of the libraries that the older one has: going back loses no library that was not there.
func backwards(before, now *breaking.Snapshot) (from, to *breaking.Snapshot) {
	known := *now
	known.Libraries = slices.DeleteFunc(slices.Clone(now.Libraries), func(l breaking.Library) bool {
		return !slices.ContainsFunc(before.Libraries, func(was breaking.Library) bool { return was.Spec.Name == l.Spec.Name })
	})
	return &known, before
}

// before reads the older version. Without one the project stands in for it: then only released.sum speaks.
func (a *app) before(ctx context.Context, p *project.Project, now *breaking.Snapshot, against string) (*breaking.Snapshot, error) {
	revision, named := strings.CutPrefix(against, "git:")
	switch {
	case against == "":
		return now, nil
	case named:
		return p.Revision(ctx, revision)
	case against == "embedded" || strings.Contains(against, "://"):
		return a.held(ctx, now, against)
	}
	if info, err := os.Stat(against); err == nil && info.IsDir() {
		return p.Folder(against)
	}
	return p.Revision(ctx, against)
}

// held reads what the nodes of a server hold of the project's libraries.
func (a *app) held(ctx context.Context, now *breaking.Snapshot, url string) (*breaking.Snapshot, error) {
	a.redis = url
	conn, err := a.connect()
	if err != nil {
		return nil, err
	}
	defer conn.close()
	nodes, err := loader.NewTarget(conn.client).Check(ctx)
	if err != nil {
		return nil, err
	}
	out := &breaking.Snapshot{Name: conn.name, Root: now.Root, Live: true}
	seen := map[string]bool{}
	for _, node := range nodes {
		if node.Problem != nil && !node.Readable {
			return nil, node.Problem
		}
		for _, loaded := range node.Libraries {
			ours := slices.ContainsFunc(now.Libraries, func(l breaking.Library) bool { return l.Spec.Name == loaded.Name })
			if !ours || seen[loaded.Digest] || !loaded.Retired.IsZero() {
				continue
			}
			seen[loaded.Digest] = true
			lib, err := breaking.OfBundle(loaded.Code)
			switch {
			case err != nil:
				return nil, fmt.Errorf("read %s on %s: %w", loaded.ServerName, node.Addr, err)
			case lib.Spec.Server != loaded.ServerName:
				a.talk("%s is a copy of %s under another name, and is not compared", loaded.ServerName, lib.Spec.Server)
			default:
				out.Libraries = append(out.Libraries, lib)
			}
		}
	}
	if len(out.Libraries) == 0 {
		a.talk("%s holds none of these libraries: there is nothing to compare with", conn.name)
	}
	return out, nil
}

func (a *app) printComparison(c comparison, before, now *breaking.Snapshot, found []breaking.Finding) error {
	type versions struct {
		Name string   `json:"name"`
		Old  []string `json:"old"` // none where it is new; several where servers hold several
		New  string   `json:"new"`
	}
	var libraries []versions
	for _, lib := range now.Libraries {
		v := versions{Name: lib.Spec.Name, Old: []string{}, New: lib.Spec.Version}
		for _, was := range before.Libraries {
			if was.Spec.Name == v.Name {
				v.Old = append(v.Old, was.Spec.Version)
			}
		}
		libraries = append(libraries, v)
	}
	if a.json {
		against := c.against
		for _, s := range []*breaking.Snapshot{before, now} {
			if s.Live {
				against = s.Name
			}
		}
		return a.printJSON(map[string]any{
			"format": breakingFormat, "against": against, "strictness": c.strictness, "reverse": c.reverse, "libraries": libraries, "findings": orEmpty(found),
		})
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
	for _, v := range libraries {
		if c.against != "" && len(v.Old) > 0 {
			a.talk("%s: %s -> %s", v.Name, strings.Join(v.Old, ", "), v.New)
		}
	}
	switch {
	case len(broken) > 0 && c.reverse:
		a.talk("%d found: callers of the newer version go first", len(found)-notes)
	case len(broken) > 0:
		a.talk("%d found: undo what breaks callers, or raise the major of %s", len(found)-notes, strings.Join(broken, ", "))
	case breaking.Breaks(found):
		a.talk("%d found", len(found)-notes)
	case c.against == "" && (now.Released == nil || len(now.Released.Lines) == 0):
		if !c.record {
			a.talk("nothing was compared: %s/%s lists no released version; give --against FOLDER, GIT-REVISION or SERVER-URL, or list these versions with --record",
				now.Root, breaking.ReleasedFile)
		}
	case c.against == "":
		a.talk("no released version has changed; --against compares with another version")
	default:
		a.talk("nothing breaks")
	}
	return nil
}
