package templates_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	luatest "github.com/rlfunc/rlfunc/lua_test"

	"github.com/rlfunc/rlfunc/examples/templates/gen/queue"
)

var queueSuite = luatest.Suite[*queue.Client]{
	Library: queue.Library, Client: queue.New,
	Source: os.DirFS("functions"), Root: "functions",
}

// What the headers promise holds for any sequence of calls.
func TestQueue_keepsItsContract(t *testing.T) { luatest.Contract(t, queueSuite) }

type queueStep = luatest.Step[*queue.Client]

func enqueue(id, payload string, most int64) func(context.Context, *queue.Client) (any, error) {
	return luatest.Call((*queue.Client).Enqueue, queue.EnqueueParams{Subject: "mail", ID: id, Payload: payload, Most: most})
}

func extendJob(id string, attempt int64, hidden time.Duration) func(context.Context, *queue.Client) (any, error) {
	return luatest.Call((*queue.Client).Extend, queue.ExtendParams{Subject: "mail", ID: id, Attempt: attempt, Hidden: hidden})
}

func ack(id string, attempt int64) func(context.Context, *queue.Client) (any, error) {
	return luatest.Call((*queue.Client).Ack, queue.AckParams{Subject: "mail", ID: id, Attempt: attempt})
}

func TestQueue_handsOutEachJobUntilItIsDone(t *testing.T) {
	next := luatest.Call((*queue.Client).Reserve, queue.ReserveParams{Subject: "mail", Hidden: time.Minute})
	lengths := luatest.Call((*queue.Client).Peek, queue.PeekParams{Subject: "mail"})
	job := func(id string, attempt int64) queue.ReserveResult {
		return queue.ReserveResult{Found: true, Attempt: attempt, ID: id, Payload: "to " + id}
	}
	queueSuite.Run(
		t,
		queueStep{Name: "empty", Call: next, Want: queue.ReserveResult{}},
		queueStep{
			Name: "first job", Call: enqueue("a", "to a", 2), Writes: true, Want: queue.EnqueueResult{Outcome: queue.EnqueueOutcomeQueued, Length: 1},
			TTLs: map[string]time.Duration{"queue:{mail}:jobs": luatest.Immortal, "queue:{mail}:ready": luatest.Immortal},
		},
		queueStep{Name: "repeated", Call: enqueue("a", "other", 2), Want: queue.EnqueueResult{Outcome: queue.EnqueueOutcomeKnown, Length: 1}},
		queueStep{Name: "exactly full", Call: enqueue("b", "to b", 2), Writes: true, Want: queue.EnqueueResult{Outcome: queue.EnqueueOutcomeQueued, Length: 2}},
		queueStep{Name: "one more", Call: enqueue("c", "to c", 2), Want: queue.EnqueueResult{Outcome: queue.EnqueueOutcomeFull, Length: 2}},
		queueStep{Name: "the oldest", Call: next, Writes: true, Want: job("a", 1)},
		queueStep{Name: "the next", Advance: time.Second, Call: next, Writes: true, Want: job("b", 1)},
		queueStep{Name: "none is left", Call: next, Want: queue.ReserveResult{RetryAfter: 59 * time.Second}},
		queueStep{Name: "a job that a worker has counts", Call: enqueue("c", "to c", 2), Want: queue.EnqueueResult{Outcome: queue.EnqueueOutcomeFull, Length: 2}},
		queueStep{Name: "done", Call: ack("b", 1), Writes: true, Want: queue.AckResult{Removed: true}},
		queueStep{Name: "once", Call: ack("b", 1), Want: queue.AckResult{}},
		queueStep{Name: "room again", Call: enqueue("c", "to c", 2), Writes: true, Want: queue.EnqueueResult{Outcome: queue.EnqueueOutcomeQueued, Length: 2}},
		queueStep{Name: "lengths", Call: lengths, Want: queue.PeekResult{Ready: 1, Taken: 1}},
		queueStep{Name: "the first worker was too slow; its job comes first", Advance: 59 * time.Second, Call: next, Writes: true, Want: job("a", 2)},
		queueStep{Name: "its late ack removes nothing", Call: ack("a", 1), Want: queue.AckResult{}},
		queueStep{Name: "its late extension neither", Call: extendJob("a", 1, time.Hour), Want: queue.ExtendResult{}},
		queueStep{Name: "given back", Call: extendJob("a", 2, 0), Writes: true, Want: queue.ExtendResult{Extended: true}},
		queueStep{Name: "and handed out", Call: next, Writes: true, Want: job("a", 3)},
		queueStep{Name: "more time", Call: extendJob("a", 3, time.Hour), Writes: true, Want: queue.ExtendResult{Extended: true}},
		queueStep{Name: "a job without time for it", Call: luatest.Call((*queue.Client).Reserve, queue.ReserveParams{Subject: "mail"}), WantErr: fcall.ErrArgument},
		queueStep{Name: "no id", Call: enqueue("", "x", 2), WantErr: fcall.ErrArgument},
		queueStep{
			Name: "another program's keys", Given: func(t testing.TB, s *luatest.Server) { s.Do(t, "LPUSH", "queue:{mail}:ready", "lost") },
			Call: next, WantErr: fcall.ErrState,
		},
	)
}

func TestQueue_boundsAndWrongClocks(t *testing.T) {
	const years = 10 * 365 * 24 * time.Hour
	id, payload := strings.Repeat("a", 64), strings.Repeat("\x00", 16384)
	next := luatest.Call((*queue.Client).Reserve, queue.ReserveParams{Subject: "mail", Hidden: time.Minute})
	longest := luatest.Call((*queue.Client).Reserve, queue.ReserveParams{Subject: "mail", Hidden: 24 * time.Hour})
	job := func(attempt int64) queue.ReserveResult {
		return queue.ReserveResult{Found: true, Attempt: attempt, ID: id, Payload: payload}
	}
	queueSuite.Run(
		t,
		queueStep{Name: "largest legal arguments", Call: enqueue(id, payload, 1_000_000), Writes: true, Want: queue.EnqueueResult{Outcome: queue.EnqueueOutcomeQueued, Length: 1}},
		queueStep{Name: "the longest time for the work", Call: longest, Writes: true, Want: job(1)},
		queueStep{Name: "is kept", Call: next, Want: queue.ReserveResult{RetryAfter: 24 * time.Hour}},
		queueStep{Name: "a clock years ahead", Advance: years, Call: next, Writes: true, Want: job(2)},
		queueStep{Name: "and right again: the job comes back", Advance: -years, Call: next, Writes: true, Want: job(3)},
		queueStep{Name: "its time is by the right clock", Call: next, Want: queue.ReserveResult{RetryAfter: time.Minute}},
		queueStep{Name: "set back by an hour", Advance: -time.Hour, Call: next, Want: queue.ReserveResult{RetryAfter: time.Hour + time.Minute}},
		queueStep{Name: "a clock years back", Advance: -years, Call: next, Writes: true, Want: job(4)},
		queueStep{
			Name: "the last attempt that is counted", Given: func(t testing.TB, s *luatest.Server) { s.Do(t, "HSET", "queue:{mail}:jobs", "a:"+id, "1000000") },
			Advance: time.Minute, Call: next, Writes: true, Want: job(1_000_000),
		},
		queueStep{Name: "done", Call: ack(id, 1_000_000), Writes: true, Want: queue.AckResult{Removed: true}},
	)
}

func TestQueue_workersShareJobs(t *testing.T) {
	const jobs = 50
	queueSuite.EachOnRealTime(t, func(t *testing.T, _ *luatest.Server, client *queue.Client) {
		for i := range jobs {
			if _, err := enqueue(fmt.Sprint(i), "", jobs)(t.Context(), client); err != nil {
				t.Fatal(err)
			}
		}
		var mu sync.Mutex
		handed := map[string]int{}
		var wait sync.WaitGroup
		for range 5 {
			wait.Go(func() {
				for {
					got, err := client.Reserve(t.Context(), queue.ReserveParams{Subject: "mail", Hidden: time.Hour})
					if err != nil {
						t.Error(err)
					}
					if err != nil || !got.Found {
						return
					}
					mu.Lock()
					handed[got.ID]++
					mu.Unlock()
				}
			})
		}
		wait.Wait()
		for id, times := range handed {
			if times != 1 {
				t.Errorf("job %s was handed out %d times", id, times)
			}
		}
		if len(handed) != jobs {
			t.Errorf("%d of %d jobs were handed out", len(handed), jobs)
		}
	})
}
