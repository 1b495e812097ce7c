// Package demo deploys a library, then runs scenarios that many rate limiters get wrong and reports which hold.
package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/output"
	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/internal/terminal"
	"github.com/rlfunc/rlfunc/loader"
)

// Options configures Run. Only Out is required.
type Options struct {
	Out io.Writer
	// Style draws the text. Defaults to no color.
	Style terminal.Style
	// JSON prints the Verdict as one object at the end. Defaults to text that appears as the demo runs.
	JSON bool
	// Server is the URL of the server to use. The demo deletes its keys from it, but not the library. Defaults to an embedded
	// server whose clock the demo moves.
	Server string
}

const embeddedName = "embedded (Redis Functions in-process)"

// An engine is the server that the scenarios run on.
type engine struct {
	open    func() redis.UniversalClient
	direct  fcall.Caller          // calls without a socket; nil if time is real
	clock   *embedded.ManualClock // nil if time is real
	name    string
	minutes int // of the long run
}

// A run is one demo.
type run struct {
	engine
	client  redis.UniversalClient
	page    *page
	limits  *ratelimit.Client
	ns      string
	keys    []string // the keys that scenarios may have written
	verdict *Verdict
}

// Run runs all scenarios and returns the verdict. It returns an error if the server cannot be reached, the deploy fails or ctx
// ends. It does not print that error.
func Run(ctx context.Context, o Options) (*Verdict, error) {
	if o.Server != "" && o.Server != "embedded" {
		address, err := loader.ParseURL(o.Server)
		if err != nil {
			return nil, err
		}
		return show(ctx, o, engine{open: address.NewClient, name: address.String()})
	}
	clock := embedded.NewManualClock(time.Now())
	server := embedded.New(embedded.Options{Clock: clock})
	defer server.Close()
	open := func() redis.UniversalClient { return server.Client() }
	if addr, err := server.Listen("127.0.0.1:0"); err == nil { // on a socket, commands of different clients interleave as on a network
		open = func() redis.UniversalClient { return redis.NewClient(&redis.Options{Addr: addr.String(), Protocol: 2}) }
	}
	return show(ctx, o, engine{open: open, direct: server, clock: clock, name: embeddedName, minutes: 10_000})
}

func show(ctx context.Context, o Options, e engine) (*Verdict, error) {
	ns := "rlfunc-demo-" + strings.ToLower(rand.Text()[:12])
	client := e.open()
	defer client.Close()
	limits, err := ratelimit.New(client, fcall.Options{Namespace: ns})
	if err != nil {
		return nil, err
	}
	r := &run{
		engine: e, client: client, ns: ns, limits: limits,
		page:    &page{out: o.Out, style: o.Style, mute: o.JSON},
		verdict: &Verdict{Format: VerdictFormat, Server: e.name, VirtualTime: e.clock != nil},
	}
	r.page.heading(e.name, e.clock != nil)
	if err := r.deploy(ctx); err != nil {
		return nil, err
	}
	if err := errors.Join(r.scenarios(ctx), r.sweep(ctx)); err != nil {
		return nil, err
	}
	r.verdict.sum()
	if !o.JSON {
		r.page.verdict(r.verdict)
		return r.verdict, nil
	}
	return r.verdict, output.JSON(o.Out, r.verdict)
}

// deploy plans, loads and verifies the library, as an operator would.
func (r *run) deploy(ctx context.Context) error {
	step := func(name, format string, args ...any) {
		s := Step{Name: name, Text: fmt.Sprintf(format, args...)}
		r.verdict.Steps = append(r.verdict.Steps, s)
		r.page.line("  %s  %s", r.page.style.Bold(fmt.Sprintf("%-8s", s.Name)), s.Text)
	}
	lib := ratelimit.Library
	target := loader.NewTarget(r.client)
	plan, err := target.Plan(ctx, lib)
	if err != nil {
		return err
	}
	step("plan", "%s: %s", r.name, plan.Summary())
	for _, n := range plan.Nodes {
		if s := n.Steps[0]; s.Action == loader.Upgrade {
			return fmt.Errorf("%s on %s has version %s, and the demo never replaces a library: run `rlfunc deploy` first", lib.ServerName, r.name, s.From)
		}
	}
	result, err := target.Apply(ctx, plan, loader.ApplyOptions{Stateless: true}) // the demo leaves no history
	if err != nil {
		return err
	}
	if result.Changed() == 0 {
		step("deploy", "%s was already loaded", lib.ServerName)
	} else {
		step("deploy", "%s %s loaded", lib.ServerName, lib.Version)
	}
	held, err := target.Verify(ctx, lib)
	if err != nil {
		return err
	}
	if held.Same() {
		step("verify", "the server holds the bundle, byte for byte")
		return nil
	}
	for _, n := range held.Nodes {
		for _, s := range n.Steps {
			if s.State != loader.Newer {
				return fmt.Errorf("verify %s on %s: %s", s.Library, n.Addr, s.State)
			}
			step("verify", "the server holds the newer %s, which is compatible", s.From)
		}
	}
	return nil
}

// subject returns a subject and records its keys for sweep.
func (r *run) subject(name string) fcall.Subject {
	for _, suffix := range []string{"log", "receipts", "gcra"} {
		r.keys = append(r.keys, fcall.Key(r.ns, fcall.Subject(name), suffix))
	}
	return fcall.Subject(name)
}

// sweep deletes the demo's keys and nothing else, even after an interruption.
func (r *run) sweep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	for _, key := range r.keys {
		n, err := r.client.Del(ctx, key).Result()
		if err != nil {
			return fmt.Errorf("delete the demo's keys, %s:*: %w (they expire within 2 min)", r.ns, err)
		}
		r.verdict.KeysDeleted += n
	}
	if r.clock == nil {
		r.page.line("Deleted %d keys, all below %s:", r.verdict.KeysDeleted, r.ns)
	}
	return nil
}
