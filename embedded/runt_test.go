package embedded_test

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

func TestRunT_endsWithTheTest(t *testing.T) {
	var s *embedded.TestServer
	var c *redis.Client
	t.Run("the test", func(t *testing.T) {
		s = embedded.RunT(t)
		c = s.Client()
		must(t, c.Ping(t.Context()).Err())
	})
	if err := s.Process(t.Context(), redis.NewCmd(t.Context(), "ping")); !errors.Is(err, redis.ErrClosed) {
		t.Errorf("the server answers %v, want redis.ErrClosed", err)
	}
	if err := c.Ping(t.Context()).Err(); !errors.Is(err, redis.ErrClosed) {
		t.Errorf("the client answers %v, want redis.ErrClosed", err)
	}
}

func TestLoad_failsTheTest(t *testing.T) {
	s := embedded.RunT(t)
	failing := &recorder{TB: t}
	s.Load(failing, "no library")
	if want := "load library: ERR Missing library metadata"; failing.text != want {
		t.Errorf("got %q, want %q", failing.text, want)
	}
}

// recorder keeps what would have failed a test.
type recorder struct {
	embedded.TB
	text string
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.text = strings.TrimSpace(strings.ReplaceAll(format, "%v", args[0].(error).Error()))
}

func TestPackage_doesNotLinkTesting(t *testing.T) {
	onpath.Used() // what it reads is not part of this program
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for dep := range strings.Lines(string(out)) {
		if strings.TrimSpace(dep) == "testing" {
			t.Error("a service that links embedded links testing")
		}
	}
}
