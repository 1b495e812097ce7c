// Package demo deploys a library, then runs scenarios that many rate limiters get wrong and reports which hold.
package demo

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

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
	client redis.UniversalClient
	direct fcall.Caller          // calls without a socket if the server is embedded
	clock  *embedded.ManualClock // nil if time is real
	name   string
	// periods is the length of the long run on virtual time, in minutes; a multiple of 5.
	periods int
}

// atOnce is the number of simultaneous requests in a scenario, each on its own connection.
const atOnce = 50

// A run is one demo.
type run struct {
	engine
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
		narrow := address.NewClient()
		defer narrow.Close()
		client, done := widen(narrow)
		defer done()
		return show(ctx, o, engine{client: client, direct: client, name: address.String()})
	}
	clock := embedded.NewManualClock(time.Now())
	server := embedded.New(embedded.Options{Clock: clock})
	defer server.Close()
	narrow := connect(server)
	defer narrow.Close()
	client, done := widen(narrow)
	defer done()
	return show(ctx, o, engine{client: client, direct: server, clock: clock, name: embeddedName, periods: 10_000})
}

func show(ctx context.Context, o Options, e engine) (*Verdict, error) {
	ns, err := namespace()
	if err != nil {
		return nil, err
	}
	limits, err := ratelimit.New(e.client, fcall.Options{Namespace: ns})
	if err != nil {
		return nil, err
	}
	r := &run{
		engine: e, ns: ns, limits: limits,
		page:    &page{out: o.Out, style: o.Style, mute: o.JSON},
		verdict: &Verdict{Format: VerdictFormat, Server: e.name, VirtualTime: e.clock != nil},
	}
	r.page.heading(e.name, e.clock != nil)
	if err := r.deploy(ctx); err != nil {
		return nil, err
	}
	err = r.scenarios(ctx)
	if swept := r.sweep(ctx); swept != nil {
		err = errors.Join(err, swept)
	}
	if err != nil {
		return nil, err
	}
	r.verdict.sum()
	if !o.JSON {
		r.page.verdict(r.verdict)
		return r.verdict, nil
	}
	return r.verdict, output.JSON(o.Out, r.verdict)
}

// scenarios runs all scenarios. If one fails, the others still run.
func (r *run) scenarios(ctx context.Context) error {
	for _, play := range []struct {
		name, title, why string
		scenario         func(context.Context, *scene) error
	}{
		{"fifty_at_once", "Fifty at once", "50 simultaneous requests against 10 per minute: exactly 10 may pass.", r.fiftyAtOnce},
		{"one_millisecond", "A hundred in one millisecond", "Requests that share a timestamp are still counted one by one.", r.oneMillisecond},
		{"retry_after", "The eleventh call and its retry_after", "retry_after is exact to the microsecond, neither early nor late.", r.retryAfter},
		{"double_click", "A double click", "A repeated receipt is the same request: it passes, and is counted once.", r.doubleClick},
		{"receipts_apart", "Different receipts", "Different receipts are different requests: each one counts.", r.receiptsApart},
		{"subjects_apart", "Subjects that never share a bucket", "Whatever a name contains, one subject's requests never use up another subject's limit.", r.subjectsApart},
		{"long_run", "Seven per minute, sustained", "60 s / 7 is not a whole number of microseconds; rounding may neither lose nor add a token.", r.longRun},
	} {
		s := &scene{Scenario: Scenario{Name: play.name, Title: play.title, Why: play.why}, page: r.page}
		r.page.title(len(r.verdict.Scenarios)+1, play.title, play.why)
		if err := play.scenario(ctx, s); err != nil {
			if ctx.Err() != nil {
				return fmt.Errorf("scenario %s: %w", play.name, context.Cause(ctx))
			}
			s.fail("%v", err)
		}
		s.end()
		r.verdict.Scenarios = append(r.verdict.Scenarios, s.Scenario)
	}
	return nil
}

func namespace() (string, error) {
	b := make([]byte, 6)
	if _, err := rand.Read(b); err != nil {
		return "", err
	}
	return "rlfunc-demo-" + hex.EncodeToString(b), nil
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
	pipe := r.client.Pipeline()
	for _, key := range r.keys {
		pipe.Del(ctx, key)
	}
	cmds, err := pipe.Exec(ctx)
	if err != nil {
		return fmt.Errorf("delete the demo's keys, %s:*: %w (they expire within 2 min)", r.ns, err)
	}
	for _, cmd := range cmds {
		if n, ok := cmd.(*redis.IntCmd); ok {
			r.verdict.KeysDeleted += n.Val()
		}
	}
	if r.clock == nil {
		r.page.line("Deleted %d keys, all below %s:", r.verdict.KeysDeleted, r.ns)
	}
	return nil
}

// connect prefers a socket, where commands of different clients interleave as on a network.
func connect(server *embedded.Server) *redis.Client {
	addr, err := server.Listen("127.0.0.1:0")
	if err != nil {
		return server.Client()
	}
	return redis.NewClient(&redis.Options{Addr: addr.String(), Protocol: 2})
}

// widen returns a client with a connection for each simultaneous request, and a function that closes it.
func widen(client redis.UniversalClient) (redis.UniversalClient, func()) {
	single, ok := client.(*redis.Client)
	if !ok {
		return client, func() {}
	}
	o := *single.Options()
	o.PoolSize = atOnce + 4
	o.MaxActiveConns = 0
	o.MaxRetries = -1
	// These two belong to the original client.
	o.PushNotificationProcessor = nil
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	wide := redis.NewClient(&o)
	return wide, func() { wide.Close() }
}
