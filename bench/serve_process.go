package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// connections is how many connections the callers of a gRPC server share, like workers of an Envoy.
const connections = 4

// A target is a gRPC server in a process of its own.
type target struct {
	name    string
	process *exec.Cmd
	conns   []*grpc.ClientConn
	clients []ratelimitv3.RateLimitServiceClient
}

const ourPolicy = `
timeout: 10s
identities: {user: {header: X-User, claimed: true}, tenant: {header: X-Tenant, claimed: true}}
endpoints:
  - name: api
    unbounded: true
    limits:
      - {name: ip, by: ip, kind: fixed_window, limit: 1000000, window: 1h}
      - {name: user, by: user, kind: fixed_window, limit: 1000000, window: 1h}
      - {name: tenant, by: tenant, kind: fixed_window, limit: 1000000, window: 1h}
descriptors:
  - {domain: bench, entries: [{key: remote_address, identity: ip}], endpoint: api}
  - {domain: bench, entries: [{key: user, identity: user}], endpoint: api}
  - {domain: bench, entries: [{key: tenant, identity: tenant}], endpoint: api}
`

const theirConfig = `
domain: bench
descriptors:
  - {key: remote_address, rate_limit: {unit: hour, requests_per_unit: 1000000}}
  - {key: user, rate_limit: {unit: hour, requests_per_unit: 1000000}}
  - {key: tenant, rate_limit: {unit: hour, requests_per_unit: 1000000}}
`

// startTargets starts the gRPC servers in folder dir. stop ends them.
func startTargets(ctx context.Context, srv *server, dir, envoy string) (all []*target, stop func(), err error) {
	stop = func() {
		for _, t := range all {
			t.stop()
		}
	}
	ours, err := startServe(ctx, srv, dir, ourPolicy)
	if err == nil {
		all = append(all, ours)
		var nothing *target
		if nothing, err = startEmpty(ctx); err == nil {
			all = append(all, nothing)
		}
	}
	if err == nil && envoy != "" {
		var theirs *target
		if theirs, err = startEnvoy(ctx, srv, dir, envoy, theirConfig); err == nil {
			all = append(all, theirs)
		}
	}
	if err != nil {
		stop()
	}
	return all, stop, err
}

func startServe(ctx context.Context, srv *server, dir, limits string) (*target, error) {
	program, file := filepath.Join(dir, "rlfunc"), filepath.Join(dir, "limits.yaml")
	// In the main module, because the go.mod of this one lacks what only the command line imports.
	if out, err := exec.CommandContext(ctx, "go", "-C", "..", "build", "-o", program, "./cmd/rlfunc").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build rlfunc: %w\n%s", err, out)
	}
	if err := os.WriteFile(file, []byte(limits), 0o600); err != nil {
		return nil, err
	}
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	url := "redis://" + srv.addr
	if srv.network == "unix" {
		url = "unix://" + srv.addr
	}
	t := &target{name: ourServer, process: exec.Command(program, "serve", "--policy", file, "--redis", url,
		"--grpc", ports[0], "--http", ports[1])}
	return t, t.start(ctx, ports[0])
}

func startEmpty(ctx context.Context) (*target, error) {
	ports, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	t := &target{name: emptyServer, process: exec.Command(program, "-empty", ports[0])}
	return t, t.start(ctx, ports[0])
}

// startEnvoy starts envoyproxy/ratelimit with its defaults, without statsd.
func startEnvoy(ctx context.Context, srv *server, dir, program, limits string) (*target, error) {
	config := filepath.Join(dir, "envoy", "config")
	if err := os.MkdirAll(config, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(config, "bench.yaml"), []byte(limits), 0o600); err != nil {
		return nil, err
	}
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	t := &target{name: theirServer, process: exec.Command(program)}
	t.process.Env = append(os.Environ(), "REDIS_SOCKET_TYPE="+srv.network, "REDIS_URL="+srv.addr, "USE_STATSD=false", "RUNTIME_ROOT="+dir,
		"RUNTIME_SUBDIRECTORY=envoy", "RUNTIME_WATCH_ROOT=false", "HOST=127.0.0.1", "GRPC_HOST=127.0.0.1", "DEBUG_HOST=127.0.0.1")
	for i, name := range []string{"GRPC_PORT", "PORT", "DEBUG_PORT"} {
		_, port, _ := net.SplitHostPort(ports[i])
		t.process.Env = append(t.process.Env, name+"="+port)
	}
	return t, t.start(ctx, ports[0])
}

// start starts the process and waits until it answers at addr.
func (t *target) start(ctx context.Context, addr string) error {
	var log bytes.Buffer
	t.process.Stderr = &log
	if err := t.process.Start(); err != nil {
		return fmt.Errorf("start %s: %w", t.name, err)
	}
	for range connections {
		conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return errors.Join(err, t.process.Process.Kill())
		}
		t.conns, t.clients = append(t.conns, conn), append(t.clients, ratelimitv3.NewRateLimitServiceClient(conn))
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for _, c := range t.clients {
		for {
			_, err := c.ShouldRateLimit(ctx, request(0, 1), grpc.WaitForReady(true))
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				t.stop()
				return fmt.Errorf("ask %s: %w\n%s", t.name, err, &log)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	return nil
}

func (t *target) stop() {
	for _, c := range t.conns {
		_ = c.Close()
	}
	_ = t.process.Process.Kill()
	_ = t.process.Wait()
}

// cpu returns the CPU time of the process so far. Linux counts it in hundredths of a second.
func (t *target) cpu() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", t.process.Process.Pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, err := strconv.Atoi(fields[11])
	system, more := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond, errors.Join(err, more)
}

// resident returns the bytes that the process holds in memory.
func (t *target) resident() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", t.process.Process.Pid))
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

func freePorts(n int) (ports []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().String())
	}
	return ports, nil
}
