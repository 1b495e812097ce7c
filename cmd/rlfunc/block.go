package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/service"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/guard/inspect"
	"github.com/rlfunc/rlfunc/guard/policy"
)

func (a *app) blockCommand() *cobra.Command {
	var c change
	var span time.Duration
	cmd := &cobra.Command{
		Use:   "block SUBJECT --for DURATION --reason TEXT",
		Short: "Block a subject at every endpoint",
		Long: `Blocks a subject: for the given time (1ms to 3650d), guards refuse every request with this identity.
The block does not count as a strike. If the subject is already blocked for longer, nothing changes
and the exit code is 2; to shorten a block, unblock the subject first.

` + changeHelp,
		Example: "  rlfunc block ip=203.0.113.7 --for 1h --reason 'scrapes prices' --policy policy.yaml --redis redis://127.0.0.1:6379",
		Args:    oneSubject,
		RunE: func(cmd *cobra.Command, args []string) error {
			if span <= 0 {
				return usageErrorf("--for must be a positive duration, for example 1h")
			}
			c.check = blockable
			c.command, c.question = "block --for "+policy.FormatDuration(span), "Block %s for "+inspect.Words(span)+"?"
			applied := true
			c.apply = func(ctx context.Context, rdb fcall.Caller, p *policy.Policy, subject string) (string, error) {
				client, err := abuse.New(rdb, fcall.Options{Namespace: p.Namespace})
				if err != nil {
					return "", err
				}
				r, err := client.Block(ctx, abuse.BlockParams{Subject: fcall.Subject(subject), Duration: span, Reason: c.reason})
				if err != nil {
					return "", err
				}
				if applied = r.Applied; !applied {
					return "not changed: the subject has a block that ends later", nil
				}
				return "blocked for " + inspect.Words(r.RetryAfter), nil
			}
			if err := a.change(cmd.Context(), args[0], &c); err != nil {
				return err
			}
			if !applied {
				return exitFindings
			}
			return nil
		},
	}
	durationFlag(cmd, &span, "for", forUsage)
	return a.withChange(cmd, &c)
}

// blockable returns an error for a combination: guards check the block of each identity of a request, but not of combinations.
func blockable(_ *service.Service, subject string) error {
	if strings.Contains(subject, "+") {
		return fmt.Errorf("a block has one identity, and %s has several: give one of them", subject)
	}
	return nil
}

func (a *app) unblockCommand() *cobra.Command {
	var c change
	var pardon bool
	cmd := &cobra.Command{
		Use:   "unblock SUBJECT --reason TEXT",
		Short: "End the block of a subject",
		Long: `Ends the blocks of a subject: that of an operator, and each of the policy that counts the subject. One
by: [tenant, user] is of subjects such as tenant=a+user=b. The strikes stay, so the next block will be
longer; --pardon deletes attempts and strikes as well. Processes remember a refusal for up to
guard.Options.CacheTTL, a few seconds, so it can take that long until every process admits the subject.

` + changeHelp,
		Example: "  rlfunc unblock ip=203.0.113.7 --reason 'a customer, ticket 811' --policy policy.yaml --redis redis://127.0.0.1:6379",
		Args:    oneSubject,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.command, c.question = "unblock", "Unblock %s?"
			if pardon {
				c.command, c.question = "unblock --pardon", "Unblock %s and delete its attempts and strikes?"
			}
			c.apply = func(ctx context.Context, rdb fcall.Caller, p *policy.Policy, subject string) (string, error) {
				client, err := abuse.New(rdb, fcall.Options{Namespace: p.Namespace})
				if err != nil {
					return "", err
				}
				existed, names := false, []string{""} // "" is an operator's
				for i := range p.Blocks {
					if p.Counts(p.Blocks[i].By, subject) {
						names = append(names, p.Blocks[i].Name)
					}
				}
				for _, name := range names {
					r, err := client.Unblock(ctx, abuse.UnblockParams{Subject: fcall.Subject(subject), Pardon: pardon, Name: name})
					if err != nil {
						return "", err
					}
					existed = existed || r.Existed
				}
				if !existed {
					return "the subject had no block", nil
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
