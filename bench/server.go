package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/gen/concurrency"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/internal/servers"
)

// libraries are what is measured.
var libraries = []*fcall.Library{ratelimit.Library, cost.Library, abuse.Library, challenge.Library, guard.Library, concurrency.Library}

// A server is the server that is measured.
type server struct {
	version string
	client  *redis.Client
	network string // unix or tcp
	addr    string
	stop    func()
}

// startServer reaches the server of s.redis, or starts one of our own, loads what is measured and makes the connection.
func startServer(ctx context.Context, s settings) (*server, error) {
	srv := &server{stop: func() {}}
	options := &redis.Options{}
	if s.redis != "" {
		var err error
		if options, err = redis.ParseURL(s.redis); err != nil {
			return nil, fmt.Errorf("--redis: %w", err)
		}
	} else {
		dir, err := os.MkdirTemp("", "rlfunc-bench")
		if err != nil {
			return nil, fmt.Errorf("make a folder for the server: %w", err)
		}
		stop, err := launch(s.engine, dir, options)
		if err != nil {
			os.RemoveAll(dir)
			return nil, err
		}
		srv.stop = func() {
			stop()
			os.RemoveAll(dir)
		}
	}
	options.PoolSize = 128
	options.MaxRetries = -1
	options.DisableIdentity = true
	srv.client = redis.NewClient(options)
	srv.network, srv.addr = options.Network, options.Addr
	if err := srv.prepare(ctx, s.redis != ""); err != nil {
		srv.stop()
		return nil, err
	}
	return srv, nil
}

// serviceClient returns a client as docs/deploying.md makes it.
func (s *server) serviceClient() *redis.Client {
	o := *s.client.Options()
	o.ContextTimeoutEnabled = true
	return redis.NewClient(&o)
}

// cpu returns the seconds of the processor that the server has used.
func (s *server) cpu(ctx context.Context) (seconds float64, err error) {
	info, err := s.client.Info(ctx, "cpu").Result()
	if err != nil {
		return 0, fmt.Errorf("ask for the processor time: %w", err)
	}
	fields := servers.Info(info)
	for _, name := range []string{"used_cpu_user", "used_cpu_sys"} {
		part, err := strconv.ParseFloat(fields[name], 64)
		if err != nil {
			return 0, fmt.Errorf("INFO has no %s: %w", name, err)
		}
		seconds += part
	}
	return seconds, nil
}

// launch starts a program or an image, waits until it takes connections, and fills in where it listens.
func launch(engine, dir string, o *redis.Options) (stop func(), err error) {
	if engine == "" {
		for _, program := range []string{"redis-server", "valkey-server"} {
			if _, err := exec.LookPath(program); err == nil {
				engine = program
				break
			}
		}
		if engine == "" {
			return nil, errors.New("no redis-server or valkey-server on PATH: give --redis URL or --engine docker:IMAGE")
		}
	}
	common := []string{"--save", "", "--appendonly", "no", "--protected-mode", "no"}
	image, isImage := strings.CutPrefix(engine, "docker:")
	if !isImage {
		o.Network, o.Addr = "unix", filepath.Join(dir, "redis.sock")
		cmd := exec.Command(engine, append(common, "--port", "0", "--unixsocket", o.Addr, "--dir", dir)...)
		if err := cmd.Start(); err != nil {
			return nil, fmt.Errorf("start %s: %w", engine, err)
		}
		ended := make(chan struct{})
		go func() {
			_ = cmd.Wait()
			close(ended)
		}()
		stop = func() {
			_ = cmd.Process.Kill()
			<-ended
		}
		return listening(o, ended, stop)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("find a free port: %w", err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	o.Network, o.Addr = "tcp", "127.0.0.1:"+port
	program := "redis-server"
	if strings.Contains(image, "valkey") {
		program = "valkey-server"
	}
	args := append([]string{"run", "--rm", "-d", "--network", "host", image, program}, common...)
	id, err := exec.Command("docker", append(args, "--bind", "127.0.0.1", "--port", port)...).Output()
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", image, err)
	}
	return listening(o, nil, func() { _ = exec.Command("docker", "kill", strings.TrimSpace(string(id))).Run() })
}

// listening waits until a server takes connections, and returns stop. It calls stop if none does, or the server has ended. The wait is
// long: under valgrind, beside other tests, a server has taken more than 15 seconds to start.
func listening(o *redis.Options, ended <-chan struct{}, stop func()) (func(), error) {
	deadline := time.After(2 * time.Minute)
	for {
		conn, err := net.Dial(o.Network, o.Addr)
		if err == nil {
			conn.Close()
			return stop, nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
			continue
		case <-ended:
			err = errors.New("it ended at once")
		case <-deadline:
		}
		stop()
		return nil, fmt.Errorf("no server listens on %s: %w", o.Addr, err)
	}
}

// An empty function shows the cost of a call that does nothing.
const emptyLibrary = `#!lua name=rlfunc_bench
redis.register_function('rlfunc_bench_empty', function() return 1 end)
`

func (s *server) prepare(ctx context.Context, foreign bool) error {
	if foreign {
		n, err := s.client.DBSize(ctx).Result()
		if err != nil {
			return fmt.Errorf("count the keys on %s: %w", s.addr, err)
		}
		if n > 0 {
			return fmt.Errorf("the server on %s must be empty, it has %d keys", s.addr, n)
		}
	}
	info, err := s.client.Info(ctx, "server").Result()
	if err != nil {
		return fmt.Errorf("ask for the version: %w", err)
	}
	s.version = servers.Identify(info).String()
	if err := s.client.FunctionLoadReplace(ctx, emptyLibrary).Err(); err != nil {
		return fmt.Errorf("load the empty function: %w", err)
	}
	for _, library := range libraries {
		if err := s.client.FunctionLoadReplace(ctx, library.Code).Err(); err != nil {
			return fmt.Errorf("load %s: %w", library.Name, err)
		}
	}
	return nil
}

// machine says what the numbers were measured on.
func machine() string {
	name := runtime.GOOS + "/" + runtime.GOARCH
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if value, ok := strings.CutPrefix(line, "model name"); ok {
				name = strings.TrimLeft(strings.TrimSpace(value), ": ")
				break
			}
		}
	}
	machine := fmt.Sprintf("%s, %d cores", name, runtime.NumCPU())
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		machine += ", load " + strings.Fields(string(text))[0] + " before"
	}
	return machine
}
