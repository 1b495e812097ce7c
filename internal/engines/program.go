package engines

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

var versionPattern = regexp.MustCompile(` v=([0-9][0-9.]*)`)

// onPath returns the version of a server program on PATH, or "" if it is not there.
func onPath(program string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		return ""
	}
	m := versionPattern.FindSubmatch(out)
	if m == nil {
		return ""
	}
	return string(m[1])
}

// asProgram starts a server program of this machine on a free loopback port.
func asProgram(program string) func(context.Context, []string) (*server, error) {
	return func(ctx context.Context, args []string) (*server, error) {
		ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
		defer cancel()
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		c, err := startChild(program, append([]string{
			"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", "/tmp", "--dbfilename", dataFile(port),
		}, args...)...)
		if err != nil {
			return nil, err
		}
		o := redis.Options{Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
		version, err := await(ctx, o, c.died)
		if err == nil {
			err = isOurs(ctx, o, dataFile(port))
		}
		if err != nil {
			c.kill()
			return nil, fmt.Errorf("start %s: %w: %s", program, err, c.output)
		}
		return &server{
			version: version,
			how:     program + " on PATH",
			url:     "redis://" + o.Addr + "/0",
			options: o,
			end:     c.kill,
			log:     c.output.String,
		}, nil
	}
}

// A child is a program that ends with this process.
type child struct {
	cmd    *exec.Cmd
	output *tail
	died   chan struct{} // closed when it has ended
}

func startChild(program string, args ...string) (*child, error) {
	c := &child{cmd: exec.Command(program, args...), output: &tail{}, died: make(chan struct{})}
	c.cmd.Stdout, c.cmd.Stderr = c.output, c.output
	c.cmd.SysProcAttr = dieWithParent()
	started := make(chan error)
	go func() {
		// The kernel ties the child to the thread that started it, so this one waits for the child to end.
		runtime.LockOSThread()
		err := c.cmd.Start()
		started <- err
		if err == nil {
			_ = c.cmd.Wait()
		}
		close(c.died)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	return c, nil
}

// kill ends it at once, as a crash would, also when it is paused.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	<-c.died
}

func (c *child) pause() error  { return pauseProcess(c.cmd.Process) }
func (c *child) resume() error { return resumeProcess(c.cmd.Process) }
func (c *child) log() string   { return c.output.String() }

// A Process is a program, not an engine, that a test runs.
type Process struct {
	Ended  <-chan struct{} // closed when it has ended
	Output func() string   // the last that it has written
	Kill   func()          // at once, as a crash would
}

// Beside starts a program, not an engine, for as long as a test runs. It ends with the test's process, too.
func Beside(t testing.TB, program string, args ...string) Process {
	t.Helper()
	c, err := startChild(program, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.kill)
	return Process{Ended: c.died, Output: c.output.String, Kill: c.kill}
}

// tail keeps the last output of a program.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.buf.Len() > 64<<10 {
		t.buf.Reset()
	}
	return t.buf.Write(p)
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}
