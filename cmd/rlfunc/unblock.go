package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/guard/policy"
)

func (a *app) unblockCommand() *cobra.Command {
	var c change
	var pardon bool
	cmd := &cobra.Command{
		Use:   "unblock SUBJECT --reason TEXT",
		Short: "End the block of a subject",
		Long: `Ends the block of a subject, by an operator or by attempts. The strikes stay, so that the next block is longer still;
--pardon also deletes attempts and strikes. Guards cache a refusal for a few seconds (guard.Options.CacheTTL), so every process admits the
subject after that time.

` + changeHelp,
		Example: "  rlfunc unblock ip=203.0.113.7 --reason 'a customer, ticket 811' --policy policy.yaml --redis redis://127.0.0.1:6379",
		Args:    oneSubject,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.check = blockable
			c.command, c.question = "unblock", "Unblock %s?"
			if pardon {
				c.command, c.question = "unblock --pardon", "Unblock %s and delete its attempts and strikes?"
			}
			c.apply = func(ctx context.Context, rdb fcall.Caller, p *policy.Policy, subject string) (string, error) {
				client, err := abuse.New(rdb, fcall.Options{Namespace: p.Namespace})
				if err != nil {
					return "", err
				}
				r, err := client.Unblock(ctx, abuse.UnblockParams{Subject: fcall.Subject(subject), Pardon: pardon})
				if err != nil || !r.Existed {
					return "the subject had no block", err
				}
				if pardon {
					return "unblocked and pardoned", nil
				}
				return "unblocked", nil
			}
			return a.change(cmd.Context(), args[0], &c)
		},
	}
	cmd.Flags().BoolVar(&pardon, "pardon", false, "also delete attempts and strikes")
	return a.withChange(cmd, &c)
}
