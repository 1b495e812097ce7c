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
	"time"

	"github.com/rlfunc/rlfunc/codegen/plugin"
)

const (
	maxOutput = 64 << 20         // bytes of standard output
	maxTime   = 2 * time.Minute  // from start to exit
	grace     = 3 * time.Second  // for children of a plugin that keep its streams open
	maxShown  = 10 * 1024 * 1024 // bytes of standard error that are passed on
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
