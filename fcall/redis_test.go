package fcall_test

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/counting"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

var (
	countLibrary  = counting.Library
	countFunction = counting.Function
)

// startRedis starts a redis-server with the counting library on a free loopback port, and returns its address.
func startRedis(t testing.TB, args ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: servers are not started with -short")
	}
	bin := onpath.Program(t, "redis-server")
	addr := freeAddr(t)
	_, port, _ := net.SplitHostPort(addr)
	dir := t.TempDir()
	args = append([]string{
		"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", dir,
		"--logfile", filepath.Join(dir, "log"),
	}, args...)
	cmd := exec.Command(bin, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	defer c.Close()
	eventually(t, "redis-server answers", func() error { return c.Ping(context.Background()).Err() })
	return addr
}

func loadCount(t testing.TB, addr string) {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr})
	defer c.Close()
	if err := c.FunctionLoadReplace(context.Background(), countLibrary.Code).Err(); err != nil {
		t.Fatal(err)
	}
}

// startCluster runs a cluster of one node that holds all slots.
func startCluster(t testing.TB, args ...string) string {
	t.Helper()
	addr := startRedis(t, append([]string{"--cluster-enabled", "yes"}, args...)...)
	c := redis.NewClient(&redis.Options{Addr: addr})
	defer c.Close()
	ctx := context.Background()
	if err := c.ClusterAddSlotsRange(ctx, 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the cluster is up", func() error {
		info, err := c.ClusterInfo(ctx).Result()
		if err == nil && !strings.Contains(info, "cluster_state:ok") {
			err = fmt.Errorf("cluster info: %s", info)
		}
		return err
	})
	return addr
}

// eventually polls a starting server. Use it for set-up only.
func eventually(t testing.TB, what string, f func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if err = f(); err == nil {
			return
		}
	}
	t.Fatalf("not in 20 s: %s: %v", what, err)
}

func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
