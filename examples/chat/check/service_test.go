package check

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

// A service is the program, with its Redis.
type service struct {
	url    string
	redis  *engines.Member
	costs  *cost.Client
	policy string // its own copy of limits.yaml
	cmd    *exec.Cmd
	log    *record
}

// start builds the program and starts it while its Redis is away.
func start(t *testing.T) *service {
	t.Helper()
	dir := t.TempDir()
	s := &service{redis: engines.OnPath(t).Start(t), policy: filepath.Join(dir, "limits.yaml"), log: new(record)}
	rdb := redis.NewClient(&redis.Options{Addr: s.redis.Addr})
	t.Cleanup(func() { rdb.Close() })
	var err error
	if s.costs, err = cost.New(rdb, fcall.Options{Namespace: "chat"}); err != nil {
		t.Fatal(err)
	}
	s.redis.Kill()

	s.write(t, s.shipped(t))
	program := filepath.Join(dir, "chat")
	onpath.Used() // what it reads is not part of this program
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s", "-o", program, "..").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	s.cmd = exec.Command(program, "-addr", "127.0.0.1:0", "-redis", "redis://"+s.redis.Addr, "-policy", s.policy, "-pace", "10ms")
	s.cmd.Stderr = s.log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	listening := regexp.MustCompile(`msg=listening url=(\S+)`)
	await(t, "the service listens", func() bool { return listening.MatchString(s.log.String()) })
	s.url = listening.FindStringSubmatch(s.log.String())[1]
	return s
}

// shipped is the example's policy. A busy machine is no fault, so that Redis has more time.
func (s *service) shipped(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../limits.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(string(text), "namespace: chat\n", "namespace: chat\ntimeout: 5s\n", 1)
}

func (s *service) write(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(s.policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// spent is what a subject has spent and reserved, in tokens.
func (s *service) spent(t *testing.T, c *client) int64 {
	t.Helper()
	hour := cost.PackBudget(cost.Budget{Budget: 2000e6, Window: time.Hour, Name: "tokens"})
	result, err := s.costs.Peek(t.Context(), cost.PeekParams{Subject: fcall.Subject("device=" + c.hash()), Budgets: hour})
	if err != nil {
		t.Fatal(err)
	}
	return int64(result.Budgets[0].Spent / 1e6)
}

// reload writes a policy and waits until the service uses it: RateLimit-Policy of GET /v1/models then begins with models.
func (s *service) reload(t *testing.T, text, models string) {
	t.Helper()
	looker := &client{service: s, address: "192.0.2.20"}
	s.write(t, text)
	await(t, "the service has the policy with "+models, func() bool {
		return strings.HasPrefix(looker.must(t, http.MethodGet, "/v1/models", "").policy, models)
	})
}

// end stops the service and returns its exit status.
func (s *service) end(t *testing.T) int {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Wait()
	return s.cmd.ProcessState.ExitCode()
}

// A record holds the output of the service.
type record struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.buf.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.buf.String()
}
