// Package demo runs scenarios that many rate limiters get wrong, and reports which hold.
package demo

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/internal/terminal"
)

// A run is one demo.
type run struct {
	open    func() redis.UniversalClient
	direct  fcall.Caller // calls without a socket
	clock   *embedded.ManualClock
	minutes int // of the long run
	limits  *ratelimit.Client
	page    *page
	verdict *Verdict
}

// Run runs all scenarios on an embedded server whose clock it moves, and prints them as they run.
func Run(ctx context.Context, out io.Writer, style terminal.Style) (*Verdict, error) {
	clock := embedded.NewManualClock(time.Now())
	server := embedded.New(embedded.Options{Clock: clock})
	defer server.Close()
	open := func() redis.UniversalClient { return server.Client() }
	if addr, err := server.Listen("127.0.0.1:0"); err == nil { // on a socket, commands of different clients interleave as on a network
		open = func() redis.UniversalClient { return redis.NewClient(&redis.Options{Addr: addr.String(), Protocol: 2}) }
	}
	r := &run{open: open, direct: server, clock: clock, minutes: 10_000, page: &page{out, style}}
	return r.play(ctx)
}

func (r *run) play(ctx context.Context) (*Verdict, error) {
	client := r.open()
	defer client.Close()
	lib := ratelimit.Library
	if err := client.FunctionLoad(ctx, lib.Code).Err(); err != nil {
		return nil, fmt.Errorf("load %s: %w", lib.ServerName, err)
	}
	var err error
	if r.limits, err = ratelimit.New(client, fcall.Options{}); err != nil {
		return nil, err
	}
	r.verdict = &Verdict{}
	r.page.line("%s", r.page.style.Bold("rlfunc demo on "+server))
	r.page.line("Time is virtual here: the demo moves the server's clock instead of waiting.")
	if err := r.scenarios(ctx); err != nil {
		return nil, err
	}
	r.verdict.sum()
	r.page.verdict(r.verdict)
	return r.verdict, nil
}
