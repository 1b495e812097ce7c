package engines

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/onpath"
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

// A Program is a server program that topologies are made of: one on PATH, or one in an image of this machine.
type Program struct {
	Name    string // "path-redis-server-7.0.15", "redis-8.0"
	command string
	run     func(ctx context.Context, command string, args []string) (box, error)
	tls     *tls.Config // of clients, or nil
	args    []string    // that all of its servers have
}

// flags are the arguments of a server on the port.
func (p Program) flags(port int, args []string) []string {
	flag := "--port"
	if p.tls != nil {
		flag = "--tls-port"
	}
	return slices.Concat(p.args, []string{flag, strconv.Itoa(port)}, args)
}

// A box is where a server runs.
type box interface {
	kill() // at once, as a crash would
	pause() error
	resume() error
	log() string
}

// OnPath returns the server program on PATH. Without one the test is skipped, and fails where RLFUNC_REQUIRE_ENGINES asks for
// engines at all.
func OnPath(t testing.TB) Program {
	t.Helper()
	skipUnwanted(t)
	onpath.Looked()
	for _, command := range []string{"redis-server", "valkey-server"} {
		if version := onPath(command); version != "" {
			onpath.Used()
			return Program{Name: "path-" + command + "-" + version, command: command, run: asChild}
		}
	}
	if requiresReal() {
		t.Fatalf("engines: no redis-server or valkey-server on PATH, and RLFUNC_REQUIRE_ENGINES is %q", os.Getenv("RLFUNC_REQUIRE_ENGINES"))
	}
	onpath.Lacking(t, "redis-server is not on PATH, nor is valkey-server")
	return Program{}
}

// skipUnwanted skips a test of real servers where RLFUNC_ENGINES names the embedded engine alone.
func skipUnwanted(t testing.TB) {
	t.Helper()
	if patterns := names("RLFUNC_ENGINES"); len(patterns) > 0 && !requiresReal() && !slices.ContainsFunc(patterns, func(p string) bool { return p != "embedded" }) {
		t.Skip("SKIPPED: RLFUNC_ENGINES leaves out real servers")
	}
}

// requiresReal reports whether RLFUNC_REQUIRE_ENGINES names a real engine.
func requiresReal() bool {
	return slices.ContainsFunc(names("RLFUNC_REQUIRE_ENGINES"), func(name string) bool { return name != "embedded" })
}

func asChild(_ context.Context, command string, args []string) (box, error) {
	c, err := startChild(command, args...)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// images are the programs that topologies can be made of beside the one on PATH, the newest, by the name of their engine.
var images = []struct {
	image string
	Program
}{
	{"redis:8", Program{Name: "redis-8", command: "redis-server", run: onHost("redis:8")}},
	{"valkey/valkey:9", Program{Name: "valkey-9", command: "valkey-server", run: onHost("valkey/valkey:9")}},
}

// Images returns the server programs of images that are on this machine, to be run on its network: the nodes of a cluster reach one another at the
// addresses by which clients reach them. A missing one fails the test if RLFUNC_REQUIRE_ENGINES names its engine, and without any the test is skipped.
func Images(t testing.TB) []Program {
	t.Helper()
	skipUnwanted(t)
	onpath.Looked()
	var found []Program
	for _, i := range images {
		if _, err := localImage(t.Context(), i.image); err != nil {
			if slices.Contains(names("RLFUNC_REQUIRE_ENGINES"), i.Name) {
				t.Fatalf("engines: %s is required: %v", i.Name, err)
			}
			t.Logf("engines: no topologies of %s: %v", i.Name, err)
			continue
		}
		found = append(found, i.Program)
	}
	if len(found) == 0 {
		t.Skip("SKIPPED: no image to make topologies of; make test-all uses those that make images gets")
	}
	onpath.Used()
	return found
}
