package engines

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// patience is how long a topology may take to come to a state that a test waits for.
const patience = 30 * time.Second

// A Member is one server of a topology. It belongs to the test that started it, which may break it.
type Member struct {
	Addr string

	program Program
	args    []string
	options redis.Options
	name    string // in its configuration, which distinguishes it from another server on its port; a sentinel has none

	mu  sync.Mutex
	box box
	end func() // of the box
}

// Start starts one server with the arguments appended to its command line. It ends with the test.
func (p Program) Start(t testing.TB, args ...string) *Member {
	t.Helper()
	return p.start(t, func(port int) []string { return p.flags(port, args) })
}

// StartReplica starts a replica of the server, and waits until it has taken over its data.
func (m *Member) StartReplica(t testing.TB, args ...string) *Member {
	t.Helper()
	_, port, _ := net.SplitHostPort(m.Addr)
	r := m.program.Start(t, append([]string{"--replicaof", "127.0.0.1 " + port}, args...)...)
	r.AwaitInfo(t, "master_link_status:up")
	_, port, _ = net.SplitHostPort(r.Addr)
	m.awaitText(t, "port="+port+",state=online,") // a moment later; until then it refuses FAILOVER
	return r
}

func (p Program) start(t testing.TB, args func(port int) []string) *Member {
	t.Helper()
	var m *Member
	var err error
	for range 3 { // another process may take the port first
		var port int
		if port, err = freePort(); err != nil {
			break
		}
		m = &Member{Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), program: p}
		m.options = redis.Options{Addr: m.Addr, TLSConfig: p.tls}
		m.name = dataFile(port)
		m.args = append([]string{
			"--bind", "127.0.0.1", "--dir", folder(t), "--dbfilename", m.name, "--save", "", "--appendonly", "no",
			"--repl-diskless-sync-delay", "0",
		}, args(port)...)
		if err = m.begin(t.Context()); err == nil {
			t.Cleanup(m.Kill)
			return m
		}
	}
	t.Fatalf("engines: start %s: %v", p.Name, err)
	return nil
}

// folder is short, for the sockets in it, and goes with the test.
func folder(t testing.TB) string {
	t.Helper()
	return folderIn(t, "")
}

// memoryFolder returns a folder in memory, where the machine has one: a sentinel waits for the disk whenever it votes, and one that waits
// for 2 s does nothing for the next 30 s (tilt).
func memoryFolder(t testing.TB) string {
	t.Helper()
	const memory = "/dev/shm"
	if info, err := os.Stat(memory); err != nil || !info.IsDir() {
		return folder(t)
	}
	return folderIn(t, memory)
}

func folderIn(t testing.TB, parent string) string {
	t.Helper()
	dir, err := os.MkdirTemp(parent, "rlfunc")
	if err != nil {
		t.Fatalf("engines: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// Restart starts the server again, on its port and in its folder, after [Member.Kill].
func (m *Member) Restart(t testing.TB) {
	t.Helper()
	if err := m.begin(t.Context()); err != nil {
		t.Fatalf("engines: start %s again: %v", m.program.Name, err)
	}
}

func (m *Member) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	b, err := m.program.run(ctx, m.program.command, m.args)
	if err != nil {
		return err
	}
	var died <-chan struct{}
	if c, ok := b.(*child); ok {
		died = c.died
	}
	m.mu.Lock()
	m.box, m.end = b, track(b.kill)
	m.mu.Unlock()
	if _, err = await(ctx, m.options, died); err == nil && m.name != "" {
		err = isOurs(ctx, m.options, m.name)
	}
	if err != nil {
		err = fmt.Errorf("%w: %s", err, b.log())
		m.Kill()
	}
	return err
}

func (m *Member) clientOptions() *redis.Options {
	o := impatient(m.options)
	return &o
}

// Client returns a client of the server, which does not try again.
func (m *Member) Client(t testing.TB) *redis.Client {
	t.Helper()
	c := redis.NewClient(m.clientOptions())
	t.Cleanup(func() { c.Close() })
	return c
}

// AwaitReplicas waits until that many replicas have everything that was written so far. WAIT alone would wait only for what its own
// connection has written, which on a new one is nothing.
func (m *Member) AwaitReplicas(t testing.TB, replicas int) {
	t.Helper()
	c := m.Client(t).Conn()
	defer c.Close()
	if err := c.Set(t.Context(), "engines:replicated", "", time.Second).Err(); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Wait(t.Context(), replicas, patience).Result(); err != nil || n < int64(replicas) {
		t.Fatalf("%d of %d replicas of %s have all writes: %v", n, replicas, m.Addr, err)
	}
}

// Kill ends the server at once, as a crash would.
func (m *Member) Kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.end()
}

// Pause stops the server's process until [Member.Resume]: its connections stay, and nothing answers.
func (m *Member) Pause(t testing.TB) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.box.pause(); err != nil {
		t.Fatalf("engines: pause %s: %v", m.Addr, err)
	}
}

// Resume ends a [Member.Pause].
func (m *Member) Resume(t testing.TB) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.box.resume(); err != nil {
		t.Fatalf("engines: resume %s: %v", m.Addr, err)
	}
}

// AwaitInfo waits until INFO has all of the lines.
func (m *Member) AwaitInfo(t testing.TB, lines ...string) {
	t.Helper()
	texts := make([]string, len(lines))
	for i, line := range lines {
		texts[i] = line + "\r\n"
	}
	m.awaitText(t, texts...)
}

// awaitText waits until INFO has all of the texts.
func (m *Member) awaitText(t testing.TB, texts ...string) {
	t.Helper()
	m.await(t, func(ctx context.Context, c *redis.Client) error {
		info, err := c.Info(ctx).Result()
		for _, text := range texts {
			if err == nil && !strings.Contains(info, text) {
				err = fmt.Errorf("INFO does not say %s", strings.TrimSpace(text))
			}
		}
		return err
	})
}

// failoverTimeout is how long a replica tries to take over when a person asks it to; another question meanwhile makes it begin anew.
const failoverTimeout = 6 * time.Second

// TakeOver makes a replica of a cluster the primary, with the consent of the others. A replica whose request finds no majority in time, as
// on a busy machine, is asked again.
func (m *Member) TakeOver(t testing.TB) {
	t.Helper()
	var asked time.Time
	m.await(t, func(ctx context.Context, c *redis.Client) error {
		info, err := c.Info(ctx, "replication").Result()
		switch {
		case err != nil:
			return err
		case strings.Contains(info, "role:master\r\n"):
			return nil
		case time.Since(asked) < failoverTimeout:
			return errors.New("it has not taken over")
		}
		asked = time.Now()
		return cmp.Or(c.ClusterFailover(ctx).Err(), errors.New("it has not taken over"))
	})
}

// await calls f until it has no error.
func (m *Member) await(t testing.TB, f func(context.Context, *redis.Client) error) {
	t.Helper()
	m.awaitFor(t, patience, f)
}

func (m *Member) awaitFor(t testing.TB, patience time.Duration, f func(context.Context, *redis.Client) error) {
	t.Helper()
	c := m.Client(t)
	deadline := time.Now().Add(patience)
	for {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		err := f(ctx, c)
		cancel()
		if err == nil {
			return
		}
		if t.Context().Err() != nil || time.Now().After(deadline) {
			t.Fatalf("engines: %s: %v\n%s", m.Addr, err, m.box.log())
		}
		time.Sleep(10 * time.Millisecond)
	}
}
