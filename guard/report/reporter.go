// Package report reports to `rlfunc top` which subjects a guard refuses most, and which limits refuse.
//
//	reporter, err := report.New(rdb, report.Options{Namespace: "chat"})
//	...
//	defer reporter.Close()
//	g, err := guard.New(rdb, p, guard.Options{Observers: []guard.Observer{reporter.Observe}, Processes: reporter.Processes})
//
// A [Reporter] counts in this process. At each interval it writes an [Interval] to Redis in the background, in one pipeline, under
// <namespace>:{report}:<process>. The key expires after three intervals. Requests never wait for a report, and only
// Options.OnError sees errors. [Read] and [Merge] return the counts of all processes.
//
// Memory is bounded by the space-saving algorithm (Metwally, Agrawal, El Abbadi, 2005): the most frequent subjects are always
// counted, and each [Count] says by how much it may be too high. Guards also use the number of reporting processes: without Redis,
// each admits an even part of a limit if that is more than its share.
package report

import (
	"cmp"
	"container/heap"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/internal/agreed"
)

// Options configure a Reporter. The zero value works for a policy with the default namespace.
type Options struct {
	// Namespace is the policy's namespace. Defaults to rl.
	Namespace string
	// Process names this process, with letters, digits, - and _. Defaults to the host name, process ID and four random letters.
	Process string
	// Every is the length of an interval, at least 1 s. Defaults to 5 s.
	Every time.Duration
	// MaxSubjects is the most subjects that are counted at a time, of which a report has the 100 most frequent. Defaults to 1000,
	// about 150 kB.
	MaxSubjects int
	// OnError is called when a report could not be written. Defaults to nothing.
	OnError func(error)
}

// maxNames is the most subjects, and the most limits, in a report.
const maxNames = 100

// A Reporter counts refusals and writes them to Redis until it is closed. It is safe for concurrent use.
type Reporter struct {
	rdb     redis.UniversalClient
	options Options
	stop    context.CancelFunc
	done    chan struct{}
	known   atomic.Int64 // number of processes that write reports

	mu       sync.Mutex
	begin    time.Time
	subjects *top
	limits   *top
	counts   Interval
}

// New starts a reporter. Pass its Observe and Processes to guard.Options. Call Close to stop it.
func New(rdb redis.UniversalClient, o Options) (*Reporter, error) {
	if o.Namespace == "" {
		o.Namespace = agreed.Namespace
	}
	if o.Process == "" {
		host, _ := os.Hostname()
		o.Process = fmt.Sprintf("%s-%d-%s", fcall.Tag(fcall.Subject(host)), os.Getpid(), strings.ToLower(fcall.NewToken()[:4]))
	}
	if o.Every == 0 {
		o.Every = 5 * time.Second
	}
	if o.MaxSubjects == 0 {
		o.MaxSubjects = 1000
	}
	if err := fcall.CheckNamespace(o.Namespace); err != nil {
		return nil, fmt.Errorf("new reporter: %w", err)
	}
	if o.Every < time.Second || o.MaxSubjects < 1 {
		return nil, fmt.Errorf("new reporter: Every must be at least 1s and MaxSubjects at least 1, got %s and %d", o.Every, o.MaxSubjects)
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &Reporter{rdb: rdb, options: o, stop: stop, done: make(chan struct{})}
	r.reset(time.Now())
	go r.run(ctx)
	return r, nil
}

// Close writes a last report and stops the reporter.
func (r *Reporter) Close() {
	r.stop()
	<-r.done
}

// Processes returns the number of processes that report; 0 before the first report. It is guard.Options.Processes.
func (r *Reporter) Processes() int { return int(r.known.Load()) }

// Observe counts a decision. It is one of guard.Options.Observers.
func (r *Reporter) Observe(_ context.Context, event guard.Event) {
	e, ok := event.(guard.Decided)
	if !ok {
		return
	}
	d := e.Decision
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Requests++
	switch {
	case e.Err != nil:
		r.counts.Failed++
	case !d.Allowed:
		r.counts.Refused++
		r.subjects.add(cmp.Or(d.Refused, d.Subject))
		r.countLimits(d)
	}
}

// countLimits counts each limit that refused, or else the reason.
func (r *Reporter) countLimits(d *guard.Decision) {
	if d.Reason != guard.ReasonLimit && d.Reason != guard.ReasonGlobal {
		r.limits.add(string(d.Reason))
		return
	}
	for i := range d.Limits {
		l := &d.Limits[i]
		if l.Allowed || l.Shadow {
			continue
		}
		name := d.Endpoint + " " + l.Name
		if l.Global {
			name += " (global)"
		}
		r.limits.add(name)
	}
}

func (r *Reporter) run(ctx context.Context) {
	defer close(r.done)
	tick := time.NewTicker(r.options.Every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.write(ctx)
		case <-ctx.Done():
			r.write(context.WithoutCancel(ctx))
			return
		}
	}
}

// write writes the interval to Redis. An interval that cannot be written is lost.
func (r *Reporter) write(ctx context.Context) {
	in := r.next(time.Now())
	text, err := json.Marshal(in)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, r.options.Every)
		defer cancel()
		list, keep := key(r.options.Namespace, processes), time.Hour
		pipe := r.rdb.Pipeline()
		pipe.Set(ctx, key(r.options.Namespace, r.options.Process), text, 3*r.options.Every)
		pipe.ZAdd(ctx, list, redis.Z{Score: float64(in.At.UnixMilli()), Member: r.options.Process})
		// The clocks of processes may differ by up to an hour.
		pipe.ZRemRangeByScore(ctx, list, "-inf", fmt.Sprint(in.At.Add(-keep).UnixMilli()))
		pipe.PExpire(ctx, list, keep)
		alive := pipe.ZCount(ctx, list, fmt.Sprint(in.At.Add(-3*r.options.Every).UnixMilli()), "+inf")
		if _, err = pipe.Exec(ctx); err == nil {
			r.known.Store(alive.Val())
		}
	}
	if err != nil && r.options.OnError != nil {
		r.options.OnError(fmt.Errorf("write report of %s: %w", r.options.Process, err))
	}
}

// next ends the current interval and starts the next one.
func (r *Reporter) next(now time.Time) Interval {
	r.mu.Lock()
	in, subjects, limits := r.counts, r.subjects, r.limits
	in.Format, in.Process, in.At, in.Seconds = 1, r.options.Process, now.UTC(), now.Sub(r.begin).Seconds()
	r.reset(now)
	r.mu.Unlock()
	in.Subjects, in.Limits = subjects.counts(), limits.counts()
	in.Subjects, in.Limits = in.Subjects[:min(maxNames, len(in.Subjects))], in.Limits[:min(maxNames, len(in.Limits))]
	for i := range in.Subjects {
		in.Subjects[i].Name = printable(in.Subjects[i].Name)
	}
	return in
}

// printable returns a subject as package identity would make it. A subject from the service's own code may hold escape codes.
func printable(subject string) string {
	parts := strings.Split(subject, "+")
	for i, part := range parts {
		name, value, named := strings.Cut(part, "=")
		switch {
		case !named || !identity.IsValue(name):
			parts[i] = identity.Value(part)
		case !identity.IsValue(value):
			parts[i] = name + "=" + identity.Value(value)
		}
	}
	return strings.Join(parts, "+")
}

func (r *Reporter) reset(now time.Time) {
	r.begin, r.counts = now, Interval{}
	r.subjects, r.limits = newTop(r.options.MaxSubjects), newTop(r.options.MaxSubjects)
}

// A Count is the number of refusals of a subject or by a limit.
type Count struct {
	Name string `json:"name"`
	N    int64  `json:"n"`              // at most Over too high, never too low
	Over int64  `json:"over,omitempty"` // count of the name that this one replaced
}

// A top counts the most frequent names in bounded memory. It is a heap.Interface, with the lowest count first.
type top struct {
	max   int
	index map[string]int // in list
	list  []Count
}

func newTop(maxNames int) *top {
	return &top{max: maxNames, index: make(map[string]int, maxNames)}
}

func (t *top) add(name string) {
	i, ok := t.index[name]
	switch {
	case ok:
		t.list[i].N++
	case len(t.list) < t.max:
		i = len(t.list)
		t.index[name], t.list = i, append(t.list, Count{Name: name, N: 1})
	default:
		least := t.list[0]
		delete(t.index, least.Name)
		t.index[name], t.list[0] = 0, Count{Name: name, N: least.N + 1, Over: least.N}
	}
	heap.Fix(t, i)
}

// counts returns the names by count, highest first.
func (t *top) counts() []Count {
	all := slices.Clone(t.list)
	sortCounts(all)
	return all
}

func (t *top) Len() int           { return len(t.list) }
func (t *top) Less(i, j int) bool { return t.list[i].N < t.list[j].N }
func (t *top) Push(any)           {}
func (t *top) Pop() any           { return nil }

func (t *top) Swap(i, j int) {
	t.list[i], t.list[j] = t.list[j], t.list[i]
	t.index[t.list[i].Name], t.index[t.list[j].Name] = i, j
}
