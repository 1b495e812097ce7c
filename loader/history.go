package loader

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"
)

// keptEvents is how many events are kept. An operation writes two: when it begins and when it ends.
const keptEvents = 1000

// An Op is what is done to a target.
type Op string

// The operations.
const (
	OpDeploy   Op = "deploy"
	OpRollback Op = "rollback"
	OpRetire   Op = "retire"
)

// An EventOutcome is how an operation ended.
type EventOutcome string

// The outcomes of operations.
const (
	// Unfinished: no end was written. The operation runs, or its process died; then running it again finishes the job.
	Unfinished EventOutcome = "unfinished"
	Done       EventOutcome = "done"
	Partly     EventOutcome = "partly" // some nodes have it, others failed
	Fruitless  EventOutcome = "failed" // nothing was changed
)

// An Event is one operation that changed a target, or set out to.
type Event struct {
	ID      string        `json:"id"`
	Op      Op            `json:"op"`
	By      string        `json:"by"`
	At      time.Time     `json:"at"`               // when it began, by the server's clock
	Ended   time.Time     `json:"ended,omitzero"`   // when it ended
	Outcome EventOutcome  `json:"outcome"`          //
	Changes []EventChange `json:"changes"`          // what was to be changed, and its outcome
	More    int           `json:"more,omitempty"`   // how many changes were left out to keep the event small
	Forced  []string      `json:"forced,omitempty"` // of a retire: the first clients that were seen and overruled
}

// An EventChange is the same change of one library on one or more nodes.
type EventChange struct {
	Library string   `json:"library"`
	From    string   `json:"from,omitempty"`
	To      string   `json:"to,omitempty"`
	Outcome Outcome  `json:"outcome,omitempty"` // empty until the end
	Problem string   `json:"problem,omitempty"`
	Count   int      `json:"count"` // how many nodes
	Nodes   []string `json:"nodes"` // the first of them, by address
}

// What an event keeps. All events together take keptEvents times maxEvent at most.
const (
	maxEvent   = 4 << 10 // bytes
	keptNodes  = 3
	keptForced = 10
)

// A nodeChange is a change on one node; Count and Nodes are of no use in it.
type nodeChange struct {
	node string
	EventChange
}

// grouped puts the same changes of several nodes together.
func grouped(changes []nodeChange) []EventChange {
	type key struct {
		library, from, to, problem string
		outcome                    Outcome
	}
	at := map[key]int{}
	groups := []EventChange{}
	for _, c := range changes {
		k := key{c.Library, c.From, c.To, shorten(c.Problem, 200), c.Outcome}
		i, ok := at[k]
		if !ok {
			i = len(groups)
			at[k] = i
			groups = append(groups, EventChange{Library: k.library, From: k.from, To: k.to, Outcome: k.outcome, Problem: k.problem})
		}
		groups[i].Count++
		if len(groups[i].Nodes) < keptNodes {
			groups[i].Nodes = append(groups[i].Nodes, c.node)
		}
	}
	return groups
}

// text is the event as JSON, of maxEvent bytes at most. What ended well is left out first.
func (e Event) text() ([]byte, error) {
	e.Changes = slices.Clone(e.Changes)
	for {
		text, err := json.Marshal(e)
		if err != nil || len(text) <= maxEvent || len(e.Changes) == 0 {
			return text, err
		}
		drop := len(e.Changes) - 1
		for i, c := range e.Changes {
			if c.Problem == "" {
				drop = i
			}
		}
		e.More += e.Changes[drop].Count
		e.Changes = slices.Delete(e.Changes, drop, drop+1)
	}
}

// History lists the last operations on the target, the newest first. An operation that found nothing to do is none.
func (t *Target) History(ctx context.Context, last int) ([]Event, error) {
	b, done, err := t.records(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return b.events(ctx, last)
}

func (b book) events(ctx context.Context, last int) ([]Event, error) {
	reply, err := b.read(ctx, "LRANGE", keyHistory, -2*max(last, 1), -1)
	if err != nil {
		return nil, err
	}
	items, _ := reply.([]any)
	at := map[string]int{}
	events := []Event{}
	for _, item := range items {
		text, _ := item.(string)
		var e Event
		if err := json.Unmarshal([]byte(text), &e); err != nil || e.ID == "" {
			return nil, &Error{Op: "read the history", Reason: ErrRejected, Cause: err, Text: keyHistory + " holds something that rlfunc did not write; remove it"}
		}
		if i, ok := at[e.ID]; ok {
			events[i] = e
			continue
		}
		at[e.ID] = len(events)
		events = append(events, e)
	}
	slices.Reverse(events)
	return events[:min(len(events), max(last, 1))], nil
}

// event appends an event: once when it begins, and whole once more when it ends.
func (b book) event(ctx context.Context, e Event) error {
	text, err := e.text()
	if err != nil {
		return err
	}
	if err := b.write(ctx, "RPUSH", keyHistory, string(text)); err != nil {
		return err
	}
	return b.write(ctx, "LTRIM", keyHistory, -keptEvents, -1)
}

// readTime reads the reply to TIME.
func readTime(reply any) (time.Time, error) {
	parts, _ := reply.([]any)
	if len(parts) == 2 {
		seconds, okS := number(parts[0])
		micros, okM := number(parts[1])
		if okS && okM {
			return time.Unix(seconds, micros*1000).UTC().Truncate(time.Millisecond), nil
		}
	}
	return time.Time{}, listError("TIME answered with something else than two numbers")
}

// number reads an integer in any form that a server gives one: a time in ms has 13 digits, which a double holds exactly.
func number(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case float64:
		return int64(v), true
	case string:
		f, err := strconv.ParseFloat(v, 64)
		return int64(f), err == nil
	}
	return 0, false
}
