package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/connection"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/demo"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/exitcode"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/usage"
)

func (a *app) demoCommand() *cobra.Command {
	var server string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show the limiters at work, beside a racy implementation",
		Long: `Deploys the built-in rate limit library, then plays the situations in which rate limiters usually
fail: 50 requests at once, a double click, a call exactly at retry_after, a long run. It ends with a
verdict, and exits with 1 if a scenario fails.

It runs on the embedded engine, so you need no Redis and no waiting. With --redis it runs on a real
server in real time, without the long run. It deletes its keys there, but the library stays.`,
		Example: "  rlfunc demo\n  rlfunc demo --redis redis://127.0.0.1:6379",
		Args:    usage.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.demo(cmd.Context(), server)
		},
	}
	// REDIS_URL is not the default: a demo runs on a real server only if the operator names it.
	cmd.Flags().StringVar(&server, "redis", connection.Embedded, redisUsage)
	return cmd
}

func (a *app) demo(ctx context.Context, server string) error {
	verdict, err := demo.Run(ctx, demo.Options{Out: a.out, Style: a.color.StyleOf(a.out), JSON: a.json, Server: server})
	if err != nil {
		return err
	}
	if !verdict.OK {
		return exitcode.Error
	}
	return nil
}
