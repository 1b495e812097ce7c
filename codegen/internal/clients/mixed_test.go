package clients_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/codegen"
	"github.com/rlfunc/rlfunc/codegen/internal/clienttest"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

const interpreter = "/usr/bin/python3" // Debian's, which sees python3-redis

// TestMixed_fiftyAtOnceAgainstTen sends 50 calls at once from this process, two of Python and two of Node.js to each of two limits of 10:
// exactly 10 pass, and every process reports what is left.
func TestMixed_fiftyAtOnceAgainstTen(t *testing.T) {
	onpath.Full(t)
	if err := exec.Command(interpreter, "-c", "import redis").Run(); err != nil {
		onpath.Lacking(t, "%s lacks redis: %v", interpreter, err)
	}
	dir := clienttest.TypeScript(t, "../../../functions")
	clienttest.Generate(t, codegen.Python, dir, "../../../functions")
	for _, name := range []string{"mixed.js", "mixed.py"} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		clienttest.Write(t, filepath.Join(dir, name), text)
	}
	address := engines.OnPath(t).Start(t).Addr
	env := append(os.Environ(), "REDIS="+address, "NODE_PATH="+clienttest.NodeModules, "PYTHONDONTWRITEBYTECODE=1")
	others := []*process{
		start(t, dir, env, interpreter, "mixed.py"), start(t, dir, env, interpreter, "mixed.py"),
		start(t, dir, env, onpath.Program(t, "node"), "mixed.js"), start(t, dir, env, onpath.Program(t, "node"), "mixed.js"),
	}
	c := redis.NewClient(&redis.Options{Addr: address})
	defer c.Close()
	limits, err := ratelimit.New(c, fcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	decisions, err := guard.New(c, fcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pack := guard.PackLimit(guard.Limit{Name: "steady", Kind: guard.LimitKindGCRA, Limit: 10, Window: time.Hour})
	for _, p := range others {
		p.expect(t, "ready")
	}
	for _, p := range others {
		p.tell(t)
	}
	var logged, admitted atomic.Int64
	var calls sync.WaitGroup
	for range 10 {
		calls.Go(func() {
			r, err := limits.SlidingLog(t.Context(), ratelimit.SlidingLogParams{Subject: "all {languages}", Limit: 10, Window: time.Hour})
			if err != nil {
				t.Error(err)
			} else if r.Allowed {
				logged.Add(1)
			}
			d, err := decisions.Admit(t.Context(), guard.AdmitParams{Subject: "all {languages}", Limits: pack})
			if err != nil {
				t.Error(err)
			} else if d.Allowed {
				admitted.Add(1)
			}
		})
	}
	calls.Wait()
	t.Logf("Go: %d of sliding_log, %d of guard's gcra", logged.Load(), admitted.Load())
	for _, p := range others {
		line := strings.Fields(p.line(t))
		if len(line) != 2 {
			t.Fatalf("%s printed %q", p.name, line)
		}
		for i, sum := range []*atomic.Int64{&logged, &admitted} {
			n, err := strconv.ParseInt(line[i], 10, 64)
			if err != nil {
				t.Fatalf("%s printed %q: %v", p.name, line, err)
			}
			sum.Add(n)
		}
		t.Logf("%s: %s of sliding_log, %s of guard's gcra", p.name, line[0], line[1])
	}
	if logged.Load() != 10 || admitted.Load() != 10 {
		t.Errorf("%d of 50 calls of sliding_log passed, and %d of guard: want 10", logged.Load(), admitted.Load())
	}
}

// A process is a program that prints "ready", waits for a line, and prints how many of its calls passed.
type process struct {
	name string
	in   io.Writer
	out  *bufio.Reader
}

func start(t *testing.T, dir string, env []string, program, script string) *process {
	t.Helper()
	cmd := exec.Command(program, script)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, env, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }) // one that hangs
	t.Cleanup(func() {
		end.Stop()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &process{filepath.Base(program), in, bufio.NewReader(out)}
}

func (p *process) line(t *testing.T) string {
	t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatalf("%s ended without an answer: %v", p.name, err)
	}
	return strings.TrimSpace(line)
}

func (p *process) expect(t *testing.T, want string) {
	t.Helper()
	if got := p.line(t); got != want {
		t.Fatalf("%s printed %q, want %q", p.name, got, want)
	}
}

func (p *process) tell(t *testing.T) {
	t.Helper()
	if _, err := io.WriteString(p.in, "go\n"); err != nil {
		t.Fatal(err)
	}
}
