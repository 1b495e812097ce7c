package demo

import (
	"context"
	"fmt"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/loader"
)

// deploy plans, loads and verifies the library, as an operator would.
func (r *run) deploy(ctx context.Context) error {
	lib := ratelimit.Library
	target := loader.NewTarget(r.client)
	plan, err := target.Plan(ctx, lib)
	if err != nil {
		return err
	}
	r.step("plan", "%s: %s", r.name, plan.Summary())
	for _, n := range plan.Nodes {
		if s := n.Steps[0]; s.Action == "upgrade" {
			return fmt.Errorf("%s on %s has version %s, and the demo never replaces a library: run `rlfunc deploy` first", lib.ServerName, r.name, s.From)
		}
	}
	result, err := target.Apply(ctx, plan, loader.ApplyOptions{Stateless: true}) // the demo leaves no history
	if err != nil {
		return err
	}
	if result.Changed() == 0 {
		r.step("deploy", "%s was already loaded", lib.ServerName)
	} else {
		r.step("deploy", "%s %s loaded", lib.ServerName, lib.Version)
	}
	held, err := target.Verify(ctx, lib)
	if err != nil {
		return err
	}
	if held.Same() {
		r.step("verify", "the server holds the bundle, byte for byte")
		return nil
	}
	for _, n := range held.Nodes {
		for _, s := range n.Steps {
			if s.State != loader.Newer {
				return fmt.Errorf("verify %s on %s: %s", s.Library, n.Addr, s.State)
			}
			r.step("verify", "the server holds the newer %s, which is compatible", s.From)
		}
	}
	return nil
}

func (r *run) step(name, format string, args ...any) {
	s := Step{Name: name, Text: fmt.Sprintf(format, args...)}
	r.verdict.Steps = append(r.verdict.Steps, s)
	r.page.step(s)
}
