package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/demo"
)

func (a *app) demoCommand() *cobra.Command {
	var server string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show the limiters at work, beside the racy way",
		Long: `Generates, plans and deploys the built-in library, then plays the situations in which rate limiters go wrong: 50 requests
at once, 100 in one millisecond, a double click, neighbours that share a prefix. It ends with a verdict line, and exits 1
if one of them came out wrong.

It runs on the embedded engine, whose time it moves. With --redis it runs on a real server and really waits; the library
stays there, the demo's keys are deleted.`,
		Example: "  rlfunc demo\n  rlfunc demo --redis redis://127.0.0.1:6379",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.demo(cmd.Context(), server)
		},
	}
	// REDIS_URL is no default here: a demo should not find its way to a server by itself.
	cmd.Flags().StringVar(&server, "redis", "embedded", "server: redis://, rediss://, unix:// or embedded")
	return cmd
}

func (a *app) demo(ctx context.Context, server string) error {
	o := demo.Options{Out: a.out, Color: demo.ColorFor(a.out), JSON: a.json}
	if server != "embedded" {
		a.redis = server
		conn, err := a.connect()
		if err != nil {
			return err
		}
		defer conn.close()
		o.Client, o.Name = conn.client, conn.name
	}
	verdict, err := demo.Run(ctx, o)
	if err != nil {
		return err
	}
	if !verdict.OK {
		return exitCode(exitError)
	}
	return nil
}
