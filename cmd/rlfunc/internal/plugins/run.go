// Package plugins runs the programs of `rlfunc generate --plugin`, and distrusts what they print.
package plugins

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rlfunc/rlfunc/codegen/plugin"
)

const (
	maxOutput = 64 << 20         // bytes of standard output
	maxTime   = 2 * time.Minute  // from start to exit
	grace     = 3 * time.Second  // for children of a plugin that keep its streams open
	maxShown  = 10 * 1024 * 1024 // bytes of standard error that are passed on
	maxFiles  = 10_000
	maxName   = 200 // bytes
)

// Run runs a command in a folder, with a request. It returns the files by name. Standard error of the command goes to stderr.
func Run(ctx context.Context, dir string, command []string, request plugin.Request, stderr io.Writer) (map[string][]byte, error) {
	input, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeoutCause(ctx, maxTime, fmt.Errorf("stopped after %s", maxTime))
	defer stop()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.WaitDelay = dir, grace
	endWithChildren(cmd)
	out := &bounded{to: &bytes.Buffer{}, left: maxOutput, full: stop}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), out, &bounded{to: stderr, left: maxShown, full: func() {}}
	err = cmd.Run()
	switch {
	case out.left < 0:
		return nil, fmt.Errorf("it printed more than %d MiB", maxOutput>>20)
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		return nil, fmt.Errorf("%w; install it, or give a path such as ./tools/%s, relative to rlfunc.yaml", err, command[0])
	case errors.Is(err, exec.ErrWaitDelay):
		return nil, errors.New("it ended, but a process that it started keeps its output open")
	case err != nil:
		return nil, err
	}
	return parse(out.to.(*bytes.Buffer).Bytes())
}

// bounded passes on its first bytes, as many as left says; then it calls full and discards the rest.
type bounded struct {
	to   io.Writer
	left int // below 0: more was written
	full func()
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left < 0 {
		return len(p), nil
	}
	keep := p[:min(len(p), b.left)]
	if b.left -= len(p); b.left < 0 {
		b.full()
	}
	if _, err := b.to.Write(keep); err != nil {
		return 0, err
	}
	return len(p), nil
}

// parse reads a response, strictly.
func parse(text []byte) (map[string][]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New(`it printed nothing: want {"format": 1, "files": [...]} on standard output`)
	}
	if !utf8.Valid(text) {
		return nil, errors.New("its output is not UTF-8")
	}
	var response plugin.Response
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&response); err != nil {
		return nil, fmt.Errorf("its output is not a response: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("its output has text after the response; print notes on standard error")
	}
	if response.Format != plugin.Format {
		return nil, fmt.Errorf("its response has format %d; this rlfunc reads format %d", response.Format, plugin.Format)
	}
	if len(response.Files) > maxFiles {
		return nil, fmt.Errorf("it returned %d files, more than %d", len(response.Files), maxFiles)
	}
	out, folded := map[string][]byte{}, map[string]string{}
	for _, f := range response.Files {
		if err := checkName(f.Name); err != nil {
			return nil, err
		}
		// Some file systems do not distinguish case.
		if other, ok := folded[strings.ToLower(f.Name)]; ok {
			return nil, fmt.Errorf("it returned the file %q twice: %q", other, f.Name)
		}
		folded[strings.ToLower(f.Name)] = f.Name
		out[f.Name] = []byte(f.Content)
	}
	for _, f := range response.Files {
		for dir := path.Dir(f.Name); dir != "."; dir = path.Dir(dir) {
			if file, ok := folded[strings.ToLower(dir)]; ok {
				return nil, fmt.Errorf("it returned the files %q and %q: a name cannot be a file and a folder", file, f.Name)
			}
		}
	}
	return out, nil
}

func checkName(name string) error {
	switch {
	case name == "" || len(name) > maxName || strings.IndexFunc(name, unicode.IsControl) >= 0:
		return fmt.Errorf("it returned the file name %.40q: want 1 to %d bytes without control characters", name, maxName)
	case !filepath.IsLocal(name) || path.Clean(name) != name || name == "." || strings.ContainsAny(name, `\:`):
		return fmt.Errorf("it returned the file %q: want a path inside its folder, with slashes, such as client/keys.rb", name)
	}
	return nil
}
