package project

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/rlfunc/rlfunc/codegen/breaking"
)

// Revision reads the project at a revision of its git repository. The files come from git's object store: neither the working tree nor
// a checkout's line ends matter.
func (p *Project) Revision(ctx context.Context, revision string) (*breaking.Snapshot, error) {
	if revision == "" || strings.HasPrefix(revision, "-") {
		return nil, fmt.Errorf("%q is not a revision", revision)
	}
	prefix, err := git(ctx, p.Dir, "", "rev-parse", "--show-prefix")
	if err != nil {
		return nil, err
	}
	prefix = strings.TrimSuffix(prefix, "\n")
	commit, err := git(ctx, p.Dir, "", "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	if err != nil {
		return nil, fmt.Errorf("%q is neither a folder nor a revision of the git repository of %s (in a shallow clone, fetch all revisions)", revision, p.Dir)
	}
	commit = strings.TrimSpace(commit)
	text, err := git(ctx, p.Dir, "", "cat-file", "blob", commit+":"+prefix+ConfigFile)
	if err != nil {
		return nil, fmt.Errorf("revision %s has no %s: the project is newer", revision, prefix+ConfigFile)
	}
	config, err := ParseConfig(ConfigFile, []byte(text))
	if err != nil {
		return nil, fmt.Errorf("revision %s: %w", revision, err)
	}
	fsys, err := filesOf(ctx, p.Dir, commit, path.Join(prefix, filepath.ToSlash(config.Functions)))
	if err != nil {
		return nil, fmt.Errorf("revision %s: %w", revision, err)
	}
	return p.snapshot("revision "+revision, fsys, config.Functions)
}

// filesOf returns what a folder holds in a commit.
func filesOf(ctx context.Context, dir, commit, folder string) (fs.FS, error) {
	listing, err := git(ctx, dir, "", "ls-tree", "-r", "-z", "--full-tree", commit, folder)
	if err != nil {
		return nil, err
	}
	var archive txtar.Archive
	hashes := ""
	for entry := range strings.SplitSeq(strings.TrimSuffix(listing, "\x00"), "\x00") {
		about, name, _ := strings.Cut(entry, "\t")
		below, inside := strings.CutPrefix(name, folder+"/")
		switch f := strings.Fields(about); {
		case len(f) != 3:
			return nil, fmt.Errorf("no folder %s", folder)
		case f[0] == "120000" || f[1] == "commit":
			return nil, fmt.Errorf("%s is a link or a submodule, which git does not show as a file: compare with a folder, which `git worktree add` makes", name)
		case !inside:
			return nil, fmt.Errorf("%s is not a folder", folder)
		default:
			archive.Files = append(archive.Files, txtar.File{Name: below})
			hashes += f[2] + "\n"
		}
	}
	// Each object is `<hash> <type> <size>`, a newline, the content, a newline.
	content, err := git(ctx, dir, hashes, "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	objects := bufio.NewReader(strings.NewReader(content))
	for i := range archive.Files {
		f := &archive.Files[i]
		var hash, kind string
		var size int64
		if _, err := fmt.Fscanf(objects, "%s %s %d\n", &hash, &kind, &size); err != nil {
			return nil, fmt.Errorf("read %s: %w", f.Name, err)
		}
		f.Data = make([]byte, size)
		if _, err := io.ReadFull(objects, f.Data); err != nil {
			return nil, fmt.Errorf("read %s: %w", f.Name, err)
		}
		_, _ = objects.ReadByte()
	}
	return txtar.FS(&archive)
}

func git(ctx context.Context, dir, in string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
	// Hooks and rebases set variables that bind git to one repository, whatever the folder.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains([]string{"GIT_DIR", "GIT_WORK_TREE", "GIT_PREFIX", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_ICASE_PATHSPECS"}, name)
	})
	var out, talk bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in), &out, &talk
	err := cmd.Run()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", errors.New("git is not on the path: install it, or compare with a folder or a server")
	case err != nil:
		return "", fmt.Errorf("git %s in %s: %w: %s", args[0], dir, err, strings.TrimSpace(talk.String()))
	}
	return out.String(), nil
}
