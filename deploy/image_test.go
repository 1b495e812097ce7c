package deploy_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

var redisQuery = redis.FunctionListQuery{LibraryNamePattern: "guard_v*"}

// checkProbes starts a command, waits until both probes succeed, and ends it by SIGTERM.
func checkProbes(t *testing.T, cmd *exec.Cmd, addr string, c container) {
	t.Helper()
	var output strings.Builder
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for _, p := range []probe{c.LivenessProbe, c.ReadinessProbe} {
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			answer, err := http.Get("http://" + addr + p.HTTPGet.Path)
			if err == nil {
				_ = answer.Body.Close()
				if answer.StatusCode == http.StatusOK {
					break
				}
			}
			select {
			case err := <-ended:
				t.Fatalf("%v: it ended: %v: %s", cmd.Args, err, output.String())
			default:
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %v %v", p.HTTPGet.Path, answer, err)
			}
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ended with %v: %s", err, output.String())
		}
	case <-time.After(20 * time.Second):
		t.Error("it does not end after SIGTERM")
	}
}

// askForwardAuth asks about the first request of a client, as Caddy does.
func askForwardAuth(t *testing.T, addr string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/forward-auth", nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Method": "GET", "Uri": "/", "Host": "h", "For": "192.0.2.1"} {
		r.Header.Set("X-Forwarded-"+name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if left := answer.Header.Get("RateLimit"); answer.StatusCode != http.StatusNoContent || !strings.Contains(left, "r=99;") {
		t.Errorf("forward-auth: %s, RateLimit %s", answer.Status, left)
	}
}

// askEnvoy asks about the second request of the client, as Envoy does.
func askEnvoy(t *testing.T, addr string) {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answer, err := ratelimitv3.NewRateLimitServiceClient(conn).ShouldRateLimit(t.Context(), &ratelimitv3.RateLimitRequest{
		Domain:      "edge",
		Descriptors: []*commonv3.RateLimitDescriptor{{Entries: []*commonv3.RateLimitDescriptor_Entry{{Key: "remote_address", Value: "192.0.2.1"}}}},
	})
	if err != nil || answer.OverallCode != ratelimitv3.RateLimitResponse_OK || answer.Statuses[0].LimitRemaining != 98 {
		t.Errorf("ShouldRateLimit: %v %v", answer, err)
	}
}

// The image runs without a network of its own, as another user than root, on a file system that it cannot write. It decides requests of
// both kinds of proxies.
func TestImage_runs(t *testing.T) {
	onpath.Full(t)
	docker := onpath.Program(t, "docker")
	if err := exec.CommandContext(t.Context(), docker, "version").Run(); err != nil {
		onpath.Lacking(t, "no Docker engine answers: %v", err)
	}
	dir := t.TempDir()
	if err := os.Link(buildProgram(t), filepath.Join(dir, "rlfunc")); err != nil {
		t.Fatal(err)
	}
	// The policy goes into the test's image, because the engine may be on another machine.
	dockerfile := readFile(t, "serve/Dockerfile") + "COPY limits.yaml /etc/rlfunc/limits.yaml\n"
	for name, text := range map[string]string{"Dockerfile": dockerfile, "limits.yaml": strings.Replace(readFile(t, "serve/limits.yaml"), "10.0.0.0/8", "127.0.0.1", 1)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	image := fmt.Sprintf("rlfunc-test:%d", os.Getpid())
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), docker, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("docker %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("build", "--quiet", "--tag", image, dir)
	t.Cleanup(func() { _ = exec.Command(docker, "rmi", "--force", image).Run() })
	web, grpcAddr := engines.FreeAddr(t), engines.FreeAddr(t)
	id := run("run", "--detach", "--network", "host", "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", image,
		"serve", "--policy", "/etc/rlfunc/limits.yaml", "--redis", "embedded", "--http", web, "--grpc", grpcAddr)
	t.Cleanup(func() { _ = exec.Command(docker, "rm", "--force", id).Run() })
	if user := run("inspect", "--format", "{{.Config.User}}", id); user != "65532:65532" {
		t.Errorf("the user is %q", user)
	}
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(run("logs", id), `"msg":"serving"`); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) || run("inspect", "--format", "{{.State.Running}}", id) != "true" {
			t.Fatalf("it does not serve: %s", run("logs", id))
		}
	}
	askForwardAuth(t, web)
	askEnvoy(t, grpcAddr)
	run("stop", "--time", "15", id)
	if code := run("inspect", "--format", "{{.State.ExitCode}}", id); code != "0" {
		t.Errorf("it ended with %s: %s", code, run("logs", id))
	}
}
