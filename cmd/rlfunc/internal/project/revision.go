package project

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/rlfunc/rlfunc/codegen"
	"github.com/rlfunc/rlfunc/codegen/breaking"
)

// Revision reads the project at a revision of its git repository. The files come from git's object store: neither the working tree nor
// a checkout's line ends matter. It reads what generate reads in a checkout, also behind links and in submodules, or fails.
func (p *Project) Revision(ctx context.Context, revision string) (*breaking.Snapshot, error) {
	if revision == "" || strings.HasPrefix(revision, "-") {
		return nil, fmt.Errorf("%q is not a revision", revision)
	}
	r, prefix, err := openRevisions(ctx, p.Dir)
	if err != nil {
		return nil, err
	}
	commit, err := r.git(ctx, p.Dir, "", "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	if err != nil {
		return nil, fmt.Errorf("%q is neither a folder nor a revision of the git repository of %s (in a shallow clone, fetch all revisions)", revision, p.Dir)
	}
	root := []folder{{repository: r.top, tree: strings.TrimSpace(commit) + "^{tree}"}}
	fsys, config, err := r.project(ctx, root, prefix)
	if errors.Is(err, errNoConfig) {
		return nil, fmt.Errorf("revision %s has no %s: the project is newer", revision, prefix+ConfigFile)
	}
	if err != nil {
		return nil, fmt.Errorf("revision %s: %w", revision, err)
	}
	return p.snapshot("revision "+revision, fsys, config.Functions)
}

var errNoConfig = errors.New("no " + ConfigFile)

// project reads rlfunc.yaml in a folder, and the sources that it names.
func (r *revisionReader) project(ctx context.Context, root []folder, prefix string) (fs.FS, Config, error) {
	here, _, err := r.walk(ctx, root, prefix)
	var file *object
	if err == nil {
		_, file, err = r.walk(ctx, here, ConfigFile)
	}
	if file == nil && (err == nil || errors.Is(err, fs.ErrNotExist)) {
		err = errNoConfig
	}
	if err != nil {
		return nil, Config{}, err
	}
	text, err := r.git(ctx, file.repository, "", "cat-file", "blob", file.hash)
	if err != nil {
		return nil, Config{}, err
	}
	config, err := ParseConfig(ConfigFile, []byte(text))
	if err != nil {
		return nil, config, err
	}
	functions := path.Clean(filepath.ToSlash(config.Functions))
	at, file, err := r.walk(ctx, here, functions)
	if err == nil && file != nil {
		err = fmt.Errorf("%s is not a folder", functions)
	}
	if err == nil {
		err = r.sources(ctx, at, functions, ".")
	}
	if err == nil {
		err = r.read(ctx)
	}
	if err != nil {
		return nil, config, err
	}
	fsys, err := txtar.FS(&r.archive)
	return fsys, config, err
}

// A revisionReader reads files of a commit, and of those of its submodules.
type revisionReader struct {
	top         string   // the work tree of the commit's repository
	environment []string // of git
	folders     map[string]map[string]object

	archive txtar.Archive // of the sources, without their content before read
	blobs   []object      // one a file of the archive
}

// A folder of a commit. A way to it is the list of all folders from the top of the work tree.
type folder struct {
	repository string // a work tree with the repository that has it
	tree       string // its name there
	name       string // its path below the top, for submodules
}

// An object is an entry of a folder.
type object struct {
	repository       string
	mode, kind, hash string
}

func (o object) link() bool { return o.mode == "120000" }

// openRevisions also returns the path of dir below the top of the work tree, with a slash at its end unless it is empty.
func openRevisions(ctx context.Context, dir string) (r *revisionReader, prefix string, err error) {
	r = &revisionReader{folders: map[string]map[string]object{}}
	local, err := r.git(ctx, dir, "", "rev-parse", "--local-env-vars")
	if err != nil {
		return nil, "", err
	}
	// Hooks and rebases set variables that bind git to one repository, whatever the folder. Configuration does not, and may hold
	// safe.directory.
	bound := slices.DeleteFunc(strings.Fields(local), func(name string) bool { return strings.HasPrefix(name, "GIT_CONFIG") })
	r.environment = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(bound, name)
	})
	if r.top, err = r.git(ctx, dir, "", "rev-parse", "--show-toplevel"); err == nil {
		prefix, err = r.git(ctx, dir, "", "rev-parse", "--show-prefix")
	}
	r.top = strings.TrimSuffix(r.top, "\n")
	return r, strings.TrimSuffix(prefix, "\n"), err
}

// entries returns what a folder holds.
func (r *revisionReader) entries(ctx context.Context, at folder) (map[string]object, error) {
	if known, ok := r.folders[at.tree]; ok {
		return known, nil
	}
	listing, err := r.git(ctx, at.repository, "", "ls-tree", "-z", "--full-tree", at.tree)
	if err != nil {
		return nil, err
	}
	all := map[string]object{}
	for entry := range strings.SplitSeq(listing, "\x00") {
		about, name, _ := strings.Cut(entry, "\t")
		if f := strings.Fields(about); len(f) == 3 {
			all[name] = object{at.repository, f[0], f[1], f[2]}
		}
	}
	r.folders[at.tree] = all
	return all, nil
}

// mostLinks is how many links a path may lead through, as on Linux.
const mostLinks = 40

// walk follows a path from a folder through links and submodules: to a folder, or to a file in it.
func (r *revisionReader) walk(ctx context.Context, way []folder, name string) ([]folder, *object, error) {
	way = slices.Clone(way)
	steps := strings.Split(name, "/")
	for links := 0; len(steps) > 0; {
		step := steps[0]
		steps = steps[1:]
		at := way[len(way)-1]
		switch step {
		case "", ".":
			continue
		case "..":
			if way = way[:len(way)-1]; len(way) == 0 {
				return nil, nil, fmt.Errorf("%s leads out of the repository", name)
			}
			continue
		}
		entries, err := r.entries(ctx, at)
		if err != nil {
			return nil, nil, err
		}
		found, ok := entries[step]
		below := folder{at.repository, found.hash, path.Join(at.name, step)}
		switch {
		case !ok:
			return nil, nil, fmt.Errorf("%s: %w", below.name, fs.ErrNotExist)
		case found.link():
			if links++; links > mostLinks {
				return nil, nil, fmt.Errorf("%s leads through more than %d links", name, mostLinks)
			}
			target, err := r.git(ctx, found.repository, "", "cat-file", "blob", found.hash)
			if err != nil {
				return nil, nil, err
			}
			if path.IsAbs(target) || filepath.IsAbs(target) {
				return nil, nil, fmt.Errorf("%s leads out of the repository, to %s", name, target)
			}
			steps = append(strings.Split(target, "/"), steps...)
		case found.kind == "tree":
			way = append(way, below)
		case found.kind == "commit":
			below.repository, below.tree = filepath.Join(r.top, filepath.FromSlash(below.name)), found.hash+"^{tree}"
			if _, err := r.git(ctx, below.repository, "", "rev-parse", "--verify", "--quiet", below.tree); err != nil {
				return nil, nil, fmt.Errorf("commit %.12s of submodule %s is not here: run `git submodule update --init`, and fetch in it", found.hash, below.name)
			}
			way = append(way, below)
		case len(steps) > 0:
			return nil, nil, fmt.Errorf("%s is not a folder", below.name)
		default:
			return way, &found, nil
		}
	}
	return way, nil, nil
}

// sources adds the files of a source tree to the archive: those of which codegen.Parse knows. functions is the tree's name in errors.
func (r *revisionReader) sources(ctx context.Context, way []folder, functions, below string) error {
	entries, err := r.entries(ctx, way[len(way)-1])
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		isFile := path.Ext(name) == ".lua" || below == "." && name == breaking.ReleasedFile
		isFolder := below == codegen.LibDir || below == "." && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "_")
		if e := entries[name]; !isFile && (!isFolder || e.kind == "blob" && !e.link()) {
			continue
		}
		full := path.Join(below, name)
		to, file, err := r.walk(ctx, way, name)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", path.Join(functions, full), err)
		case file != nil && isFile:
			r.archive.Files = append(r.archive.Files, txtar.File{Name: full})
			r.blobs = append(r.blobs, *file)
		case file == nil && isFolder:
			if err := r.sources(ctx, to, functions, full); err != nil {
				return err
			}
		}
	}
	return nil
}

// read reads the files of the archive, all of a repository at once.
func (r *revisionReader) read(ctx context.Context) error {
	wanted := map[string]string{}
	for _, b := range r.blobs {
		wanted[b.repository] += b.hash + "\n"
	}
	for repository, hashes := range wanted {
		content, err := r.git(ctx, repository, hashes, "cat-file", "--batch")
		if err != nil {
			return err
		}
		// Each object is `<hash> <type> <size>`, a newline, the content, a newline.
		answers := bufio.NewReader(strings.NewReader(content))
		for i := range r.archive.Files {
			if r.blobs[i].repository != repository {
				continue
			}
			var hash, kind string
			var size int64
			if _, err := fmt.Fscanf(answers, "%s %s %d\n", &hash, &kind, &size); err != nil {
				return fmt.Errorf("read %s: %w", r.archive.Files[i].Name, err)
			}
			var b bytes.Buffer
			if _, err := io.CopyN(&b, answers, size); err != nil {
				return fmt.Errorf("read %s: %w", r.archive.Files[i].Name, err)
			}
			r.archive.Files[i].Data = b.Bytes()
			answers.ReadByte()
		}
	}
	return nil
}

func (r *revisionReader) git(ctx context.Context, dir, in string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
	var out, talk bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = r.environment, strings.NewReader(in), &out, &talk
	err := cmd.Run()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", errors.New("git is not on the path: install it, or compare with a folder or a server")
	case err != nil:
		return "", fmt.Errorf("git %s in %s: %w: %s", args[0], dir, err, strings.TrimSpace(talk.String()))
	}
	return out.String(), nil
}
