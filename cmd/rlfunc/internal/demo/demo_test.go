package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
	"github.com/rlfunc/rlfunc/internal/terminal"
)

func TestMain(m *testing.M) { engines.Main(m) }

const pass = "PASS: 4 of 4 scenarios hold on "

func TestRun_embeddedHolds(t *testing.T) {
	onpath.Full(t)
	var out bytes.Buffer
	v, err := Run(t.Context(), Options{Out: &out})
	if err != nil {
		t.Fatal(err)
	}
	if !v.OK || v.Held != 4 || !v.VirtualTime {
		t.Errorf("held %d, ok %t, virtual time %t:\n%s", v.Held, v.OK, v.VirtualTime, out.String())
	}
	lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	if diff := cmp.Diff(pass+embeddedName, lines[len(lines)-1]); diff != "" {
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
	if v.KeysDeleted == 0 {
		t.Error("no key was deleted")
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

func TestRun_realServersHold(t *testing.T) {
	for _, e := range engines.Real(t) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			client := e.Client(t)
			if err := client.Set(t.Context(), "theirs", "1", 0).Err(); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			v, err := Run(t.Context(), Options{Out: &out, Server: e.URL})
			if err != nil {
				t.Fatal(err)
			}
			if !v.OK || v.VirtualTime {
				t.Errorf("ok %t, virtual time %t:\n%s", v.OK, v.VirtualTime, out.String())
			}
			keys, err := client.Keys(t.Context(), "*").Result()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"theirs"}, keys); diff != "" {
				t.Errorf("keys afterwards (-want +got):\n%s", diff)
			}
			t.Log("\n" + out.String())
		})
	}
}

func TestRun_jsonIsOneObject(t *testing.T) {
	e, _ := virtual(t, tamper{})
	var out bytes.Buffer
	v, err := show(t.Context(), Options{Out: &out, JSON: true, Style: terminal.Style{Color: true}}, e)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(&out)
	d.DisallowUnknownFields()
	var got Verdict
	if err := d.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if d.More() {
		t.Error("the output continues after the object")
	}
	if diff := cmp.Diff(v, &got); diff != "" || got.Format != 1 {
		t.Errorf("format %d; printed and returned (-want +got):\n%s", got.Format, diff)
	}
}

func TestRun_interruptedDeletesItsKeys(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	e, client := virtual(t, &interrupt{cancel: cancel, after: 20})
	var out bytes.Buffer
	_, err := show(ctx, Options{Out: &out}, e)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	if n := client.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys are left", n)
	}
	if strings.Contains(out.String(), "PASS") {
		t.Errorf("an interrupted demo passes:\n%s", out.String())
	}
}

func TestRun_neverReplacesAnOlderLibrary(t *testing.T) {
	e, client := virtual(t, tamper{})
	older := strings.Replace(ratelimit.Library.Code, "version=1.0.0", "version=0.9.0", 1)
	if err := client.FunctionLoad(t.Context(), older).Err(); err != nil {
		t.Fatal(err)
	}
	_, err := show(t.Context(), Options{Out: &bytes.Buffer{}}, e)
	if err == nil || !strings.Contains(err.Error(), "has version 0.9.0, and the demo never replaces a library") {
		t.Errorf("error %v", err)
	}
	libs, err := client.FunctionList(t.Context(), redis.FunctionListQuery{WithCode: true}).Result()
	if err != nil {
		t.Fatal(err)
	}
	if len(libs) != 1 || libs[0].Code != older {
		t.Error("the server's library has changed")
	}
}

// virtual returns an embedded engine with a short long run, all of whose clients have a hook, and a client without it.
func virtual(t *testing.T, hook redis.Hook) (engine, *redis.Client) {
	clock := embedded.NewManualClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	server := embedded.New(embedded.Options{Clock: clock})
	t.Cleanup(func() { server.Close() })
	open := func() redis.UniversalClient {
		client := server.Client()
		client.AddHook(hook)
		return client
	}
	return engine{open: open, direct: open(), clock: clock, name: "embedded", minutes: 100}, server.Client()
}
