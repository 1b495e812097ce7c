package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/inspect"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/guard/policy"
)

const recorded = `It needs the policy (--policy, or policy.yaml in the folder) or its --namespace. By a policy it refuses a subject that no request has: of an
identity that the policy does not define, or with a value that the identity never has. With --namespace alone it does not check that.

It shows what is there and asks; where nobody can be asked it needs --yes. Before anything is changed an entry is written to the
stream <namespace>:{audit}:log, see ` + "`rlfunc audit`" + `; where that fails nothing is done.`

func (a *app) blockCommand() *cobra.Command {
	var act act
	var hold time.Duration
	cmd := &cobra.Command{
		Use:   "block SUBJECT --for DURATION --reason TEXT",
		Short: "Block a subject at every endpoint of a guarded service",
		Long: `Blocks a subject by hand: every request that has this identity is refused until the time is over. It is no strike. A block that ends later stays as it is,
which is exit code 2: unblock first to shorten one.

` + recorded,
		Example: "  rlfunc block ip=203.0.113.7 --for 1h --reason 'scrapes prices' --policy policy.yaml --redis redis://127.0.0.1:6379",
		Args:    oneSubject,
		RunE: func(cmd *cobra.Command, args []string) error {
			if hold <= 0 {
				return errors.New("how long? give --for DURATION: --for 1h")
			}
			act.prepare = blockable
			act.command, act.question = "block --for "+hold.String(), "Block %s for "+inspect.Words(hold)+"?"
			applied := true
			act.do = func(ctx context.Context, rdb fcall.Caller, p *policy.Policy, subject string) (string, error) {
				client, err := abuse.New(rdb, fcall.Options{Namespace: p.Namespace})
				if err != nil {
					return "", err
				}
				r, err := client.Block(ctx, abuse.BlockParams{Bucket: fcall.Subject(subject), Duration: hold, Reason: act.reason})
				if err != nil {
					return "", err
				}
				if applied = r.Applied; !applied {
					return "not changed: a block that ends later holds", nil
				}
				return "blocked for " + inspect.Words(r.RetryAfter), nil
			}
			if err := a.perform(cmd.Context(), args[0], &act); err != nil {
				return err
			}
			if !applied {
				return exitCode(exitDifferences)
			}
			return nil
		},
	}
	addDuration(cmd, &hold, "for", "time of the block, 1ms to 3650d, such as 90m or 1d (required)")
	return a.withAct(cmd, &act)
}

func (a *app) unblockCommand() *cobra.Command {
	var act act
	var pardon bool
	cmd := &cobra.Command{
		Use:   "unblock SUBJECT --reason TEXT",
		Short: "End a subject's block, whoever started it",
		Long: `Ends a subject's block. Its strikes stay, so that the next block is longer still; with --pardon its attempts and strikes are
forgotten as well. Guards remember a refusal for a few seconds (guard.Options.DenyFor), so it takes effect everywhere after that.

` + recorded,
		Example: "  rlfunc unblock ip=203.0.113.7 --reason 'a customer, ticket 811' --policy policy.yaml --redis redis://127.0.0.1:6379",
		Args:    oneSubject,
		RunE: func(cmd *cobra.Command, args []string) error {
			act.prepare = blockable
			act.command, act.question = "unblock", "Unblock %s?"
			if pardon {
				act.command, act.question = "unblock --pardon", "Unblock %s and forget its attempts and strikes?"
			}
			act.do = func(ctx context.Context, rdb fcall.Caller, p *policy.Policy, subject string) (string, error) {
				client, err := abuse.New(rdb, fcall.Options{Namespace: p.Namespace})
				if err != nil {
					return "", err
				}
				r, err := client.Unblock(ctx, abuse.UnblockParams{Bucket: fcall.Subject(subject), Pardon: pardon})
				if err != nil || !r.Existed {
					return "there was nothing to end", err
				}
				if pardon {
					return "unblocked and pardoned", nil
				}
				return "unblocked", nil
			}
			return a.perform(cmd.Context(), args[0], &act)
		},
	}
	cmd.Flags().BoolVar(&pardon, "pardon", false, "forget its attempts and strikes as well")
	return a.withAct(cmd, &act)
}

// blockable refuses a combination of identities: guards look for blocks of each identity of a request, and of no combination.
func blockable(_ *policy.Policy, subject string) error {
	if strings.Contains(subject, "+") {
		return fmt.Errorf("a block is of one identity, and %s are several: give one of them", subject)
	}
	return nil
}

func oneSubject(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("whom? give one SUBJECT (ip=203.0.113.7), got %d", len(args))
	}
	return nil
}
