package demo

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/internal/onpath"
	"github.com/rlfunc/rlfunc/internal/terminal"
)

func TestRun_embeddedHolds(t *testing.T) {
	onpath.Full(t)
	var out bytes.Buffer
	v, err := Run(t.Context(), &out, terminal.Style{})
	if err != nil {
		t.Fatal(err)
	}
	if !v.OK {
		t.Errorf("not ok:\n%s", out.String())
	}
	lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	if diff := cmp.Diff("PASS: 4 of 4 scenarios hold on "+server, lines[len(lines)-1]); diff != "" {
		t.Errorf("last line (-want +got):\n%s", diff)
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Errorf("escape codes without color:\n%q", out.String())
	}
	for _, want := range []string{"exactly 10 passed", "one FCALL       10 of 50", "70000 tokens in 10000 minutes", "refused for 47.65433s"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
	// Numbers and the order of requests differ between runs; the text of the README does not.
	vary := regexp.MustCompile(`[\d.]+s?\b|[●○]+`)
	printed := map[string]bool{}
	for _, line := range lines {
		printed[vary.ReplaceAllString(line, "_")] = true
	}
	readme, err := os.ReadFile("../../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, found := strings.Cut(string(readme), "```text\n")
	if !found {
		t.Fatal("the README does not show the demo")
	}
	shown, _, _ = strings.Cut(shown, "\n```")
	for line := range strings.SplitSeq(shown, "\n") {
		if !printed[vary.ReplaceAllString(line, "_")] {
			t.Errorf("the README has %q, which the demo does not print", line)
		}
	}
}

// virtual returns a demo with a short long run, all of whose clients have a hook.
func virtual(out io.Writer, hook redis.Hook) *run {
	clock := embedded.NewManualClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	engine := embedded.New(embedded.Options{Clock: clock})
	open := func() redis.UniversalClient {
		client := engine.Client()
		client.AddHook(hook)
		return client
	}
	return &run{open: open, direct: open(), clock: clock, minutes: 100, page: &page{out: out}}
}
