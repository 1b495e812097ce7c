package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/demo"
	"github.com/rlfunc/rlfunc/internal/terminal"
)

func (a *app) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Show the limiters at work, beside a racy implementation",
		Long: `Plays the situations in which rate limiters usually fail: 50 requests at once, a double click, a call
exactly at retry_after, a long run. It ends with a verdict, and exits with 1 if a scenario fails. It
runs on the embedded engine, so you need no Redis and no waiting.`,
		Example: "  rlfunc demo",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := a.out
			if a.json {
				out = io.Discard
			}
			verdict, err := demo.Run(cmd.Context(), out, terminal.StyleOf(out))
			if err != nil {
				return err
			}
			if err := a.print(verdict, func() error { return nil }); err != nil {
				return err
			}
			if !verdict.OK {
				return exitError
			}
			return nil
		},
	}
}
