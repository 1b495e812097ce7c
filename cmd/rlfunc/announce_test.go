package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/exitcode"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

const announcingPython = `import os, sys, redis
from rlfunc_clients import guard
limits = guard.Client(redis.Redis.from_url(os.environ["REDIS_URL"]), announce="checkout")
sys.stdin.read()
limits.close()
`

// A Python service and serve announce themselves; plan, deploy and retire see both until they end.
func TestAnnounce_showsServicesOfEveryLanguage(t *testing.T) {
	onpath.Full(t)
	if err := exec.Command(debianPython, "-c", "import redis").Run(); err != nil {
		onpath.Lacking(t, "%s lacks redis: %v", debianPython, err)
	}
	server := engines.OnPath(t).Start(t)
	rdb, url := server.Client(t), "redis://"+server.Addr
	d := demoProject{t.TempDir()}
	if err := os.CopyFS(filepath.Join(d.dir, "functions"), os.DirFS("../../functions")); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"rlfunc.yaml": "", "limits.yaml": servedLimits, "main.py": announcingPython} {
		if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d.does(t, exitcode.OK, "generate", "--python", "python")
	d.does(t, exitcode.OK, "deploy", "--yes", "--redis", url)

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	served := make(chan exitcode.Code, 1)
	var log lockedBuffer
	go func() {
		flags := []string{"--policy", filepath.Join(d.dir, "limits.yaml"), "--redis", url, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--api", "127.0.0.1:0"}
		served <- runUntil(ctx, append([]string{"serve"}, flags...), strings.NewReader(""), &log, &log)
	}()
	service := exec.CommandContext(ctx, debianPython, "main.py")
	service.Dir, service.Env, service.Stderr = d.dir, append(os.Environ(), "PYTHONPATH=python", "REDIS_URL="+url), &log
	input, err := service.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	await := func(members int64) {
		t.Helper()
		for wait := time.Now().Add(time.Minute); rdb.ZCard(t.Context(), "rlfunc:{deploy}:clients").Val() != members; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(wait) {
				t.Fatalf("not %d announcements: %q\n%s", members, rdb.ZRange(t.Context(), "rlfunc:{deploy}:clients", 0, -1).Val(), strings.Join(log.lines(), "\n"))
			}
		}
	}
	await(7) // serve calls six libraries

	edit(t, filepath.Join(d.dir, "functions/guard/library.lua"), "guard 1.0.0", "guard 1.1.0")
	edit(t, filepath.Join(d.dir, "functions/guard/peek.lua"), "group[0..16] ", "group[0..15] ")
	d.does(t, exitcode.OK, "generate")
	both := []string{"(argument-bounds)", "guard_v1    1.0.0    checkout      python    1 ", "guard_v1    1.0.0    rlfunc-serve  go        1 "}
	for _, command := range []string{"plan", "deploy"} {
		out, _ := d.does(t, exitcode.Breaking, command, "--redis", url)
		contains(t, command, out, both...)
	}
	_, said := d.does(t, exitcode.Findings, "retire", "guard_v1", "--yes", "--redis", url)
	contains(t, "retire", said, "2 clients of it were seen in the last 15 minutes", "nothing was deleted")

	if err := input.Close(); err != nil {
		t.Fatal(err)
	}
	if err := service.Wait(); err != nil {
		t.Error(err, log.lines())
	}
	await(6)
	stop()
	if code := <-served; code != exitcode.OK {
		t.Errorf("serve: exit %d: %s", code, log.lines())
	}
	await(0)
	_, said = d.does(t, exitcode.Breaking, "plan", "--redis", url)
	contains(t, "plan", said, "no service has announced itself within a day")
	d.does(t, exitcode.OK, "retire", "guard_v1", "--yes", "--redis", url)
}
