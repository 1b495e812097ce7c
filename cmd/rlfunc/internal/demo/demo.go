// Package demo shows the limiters at work: it generates, plans and deploys a library, then runs the situations in which
// rate limiters go wrong, and says whether each of them came out right.
package demo

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/output"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/terminal"
	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/functions"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

// Options of Run; only Out is needed.
type Options struct {
	Out io.Writer
	// Style draws the text. Defaults to no color.
	Style terminal.Style
	// JSON prints the Verdict as one object at the end, instead of text on the way. Defaults to text.
	JSON bool
	// Client is the server to work on, which keeps the library; the demo's keys are deleted. Defaults to an embedded server
	// of the demo's own, whose time the demo moves.
	Client redis.UniversalClient
	// Name is what messages call Client, without a password. Defaults to "the server".
	Name string
	// Source is the annotated Lua that is deployed. Defaults to functions.FS.
	Source fs.FS
}

const embeddedName = "embedded (Redis Functions in-process)"

// An engine is the server that the scenarios run on.
type engine struct {
	client redis.UniversalClient
	direct fcall.Caller          // the fastest way to it
	clock  *embedded.ManualClock // nil where time is real
	name   string
	// periods is how many minutes the long run on virtual time takes; a multiple of 5.
	periods int
}

// atOnce is how many requests the scenarios make at the same time, each on a connection of its own.
const atOnce = 50

// A run is one demo.
type run struct {
	engine
	page    *page
	source  fs.FS
	limits  *ratelimit.Client
	ns      string
	keys    []string // everything that was perhaps written
	verdict *Verdict
}

// Run shows everything and returns the verdict. The error is for a demo that could not be held: no server, no deploy, no more
// time. It prints nothing about its error.
func Run(ctx context.Context, o Options) (*Verdict, error) {
	if o.Client != nil {
		name := o.Name
		if name == "" {
			name = "the server"
		}
		client, done := widen(o.Client)
		defer done()
		return show(ctx, o, engine{client: client, direct: client, name: name})
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
		engine: e, ns: ns, limits: limits, source: o.Source,
		page:    &page{out: o.Out, style: o.Style, mute: o.JSON},
		verdict: &Verdict{Format: VerdictFormat, Server: e.name, VirtualTime: e.clock != nil},
	}
	if r.source == nil {
		r.source = functions.FS
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

// scenarios runs them all; one that fails does not keep the others from being shown.
func (r *run) scenarios(ctx context.Context) error {
	for _, play := range []struct {
		name, title, why string
		scenario         func(context.Context, *scene) error
	}{
		{"fifty_at_once", "Fifty at once", "50 simultaneous requests against 10 per minute: exactly 10 may pass.", r.fiftyAtOnce},
		{"one_millisecond", "A hundred in one millisecond", "Requests that share a timestamp are still counted one by one.", r.oneMillisecond},
		{"retry_after", "The eleventh, and when it may come back", "retry_after is exact: not a microsecond too early, none too late.", r.retryAfter},
		{"double_click", "A double click", "The same receipt again is the same request: it passes, and is counted once.", r.doubleClick},
		{"receipts_apart", "Different receipts", "Other receipts are other requests: each of them counts.", r.receiptsApart},
		{"subjects_apart", "Subjects that never share a bucket", "Whatever a name contains, one subject's requests never use up another's.", r.subjectsApart},
		{"long_run", "Seven per minute, in the long run", "60 s / 7 is not a whole number of microseconds; rounding may neither lose nor add a token.", r.longRun},
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

// subject notes the keys of a subject, so that they are deleted at the end.
func (r *run) subject(name string) fcall.Subject {
	for _, suffix := range []string{"log", "receipts", "gcra"} {
		r.keys = append(r.keys, fcall.Key(r.ns, fcall.Subject(name), suffix))
	}
	return fcall.Subject(name)
}

// sweep deletes the demo's keys and nothing else, also when the demo was interrupted.
func (r *run) sweep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	pipe := r.client.Pipeline()
	for _, key := range r.keys {
		pipe.Del(ctx, key)
	}
	cmds, err := pipe.Exec(ctx)
	if err != nil {
		return fmt.Errorf("delete the demo's keys, %s:*: %w (they expire by themselves within two minutes)", r.ns, err)
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

// connect prefers real sockets: what goes wrong between two commands goes wrong there as it does on a network.
func connect(server *embedded.Server) *redis.Client {
	addr, err := server.Listen("127.0.0.1:0")
	if err != nil {
		return server.Client()
	}
	return redis.NewClient(&redis.Options{Addr: addr.String(), Protocol: 2})
}

// widen returns a client with a connection for each of the simultaneous requests.
func widen(client redis.UniversalClient) (redis.UniversalClient, func()) {
	single, ok := client.(*redis.Client)
	if !ok {
		return client, func() {}
	}
	o := *single.Options()
	o.PoolSize = atOnce + 4
	o.MaxActiveConns = 0
	o.MaxRetries = -1
	// These two belong to the client that is copied.
	o.PushNotificationProcessor = nil
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	wide := redis.NewClient(&o)
	return wide, func() { wide.Close() }
}
