package project

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/rlfunc/rlfunc/internal/codegen/breaking"
)

// Revision reads the project at a revision of its git repository. The files come from git's object store: neither the working tree nor
// a checkout's line ends matter.
func (p *Project) Revision(ctx context.Context, revision string) (*breaking.Snapshot, error) {
	if revision == "" || strings.HasPrefix(revision, "-") {
		return nil, fmt.Errorf("%q is not a revision", revision)
	}
	prefix, err := p.git(ctx, "", "rev-parse", "--show-prefix")
	if err != nil {
		return nil, err
	}
	commit, err := p.git(ctx, "", "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	if err != nil {
		return nil, fmt.Errorf("%q is neither a folder nor a revision of the git repository of %s (in a shallow clone, fetch all revisions)", revision, p.Dir)
	}
	commit, prefix = strings.TrimSpace(commit), strings.TrimSuffix(prefix, "\n")
	text, err := p.git(ctx, "", "cat-file", "blob", commit+":"+prefix+ConfigFile)
	if err != nil {
		return nil, fmt.Errorf("revision %s has no %s: the project is newer", revision, prefix+ConfigFile)
	}
	config, err := ParseConfig(ConfigFile, []byte(text))
	if err != nil {
		return nil, fmt.Errorf("revision %s: %w", revision, err)
	}
	archive, err := p.files(ctx, commit, prefix+filepath.ToSlash(filepath.Clean(config.Functions))+"/")
	if err != nil {
		return nil, err
	}
	fsys, err := txtar.FS(archive)
	if err != nil {
		return nil, fmt.Errorf("read revision %s: %w", revision, err)
	}
	return p.snapshot("revision "+revision, fsys, config.Functions)
}

// files reads the Lua files and released.sum below a folder of a commit.
func (p *Project) files(ctx context.Context, commit, folder string) (*txtar.Archive, error) {
	listing, err := p.git(ctx, "", "ls-tree", "-r", "-z", "--full-tree", commit, "--", folder)
	if err != nil {
		return nil, err
	}
	archive := &txtar.Archive{}
	var wanted strings.Builder
	for entry := range strings.SplitSeq(listing, "\x00") {
		about, name, _ := strings.Cut(entry, "\t")
		name = strings.TrimPrefix(name, folder)
		if f := strings.Fields(about); len(f) == 3 && f[1] == "blob" && (path.Ext(name) == ".lua" || name == breaking.ReleasedFile) {
			archive.Files = append(archive.Files, txtar.File{Name: name})
			wanted.WriteString(f[2] + "\n")
		}
	}
	content, err := p.git(ctx, wanted.String(), "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	// Each object is `<hash> <type> <size>`, a newline, the content, a newline.
	r := bufio.NewReader(strings.NewReader(content))
	for i := range archive.Files {
		var hash, kind string
		var size int64
		if _, err := fmt.Fscanf(r, "%s %s %d\n", &hash, &kind, &size); err != nil {
			return nil, fmt.Errorf("read %s of commit %s: %w", archive.Files[i].Name, commit, err)
		}
		var b bytes.Buffer
		if _, err := io.CopyN(&b, r, size); err != nil {
			return nil, fmt.Errorf("read %s of commit %s: %w", archive.Files[i].Name, commit, err)
		}
		archive.Files[i].Data = b.Bytes()
		r.ReadByte()
	}
	return archive, nil
}

func (p *Project) git(ctx context.Context, in string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", p.Dir}, args...)...)
	var out, talk bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in), &out, &talk
	err := cmd.Run()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", errors.New("git is not on the path: install it, or compare with a folder or a server")
	case err != nil:
		return "", fmt.Errorf("git %s in %s: %w: %s", args[0], p.Dir, err, strings.TrimSpace(talk.String()))
	}
	return out.String(), nil
}
