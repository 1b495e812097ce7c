package loader

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// keptEvents is the number of stored events. An operation stores two: at its beginning and at its end.
const keptEvents = 1000

// An Op is an operation on a target.
type Op string

// The operations.
const (
	OpDeploy   Op = "deploy"
	OpRollback Op = "rollback"
	OpRetire   Op = "retire"
)

// An EventOutcome is the result of an operation.
type EventOutcome string

// The outcomes of operations.
const (
	// EventUnfinished: the operation runs, or its process died. Running it again then finishes it.
	EventUnfinished EventOutcome = "unfinished"
	EventDone       EventOutcome = "done"
	EventPartial    EventOutcome = "partly" // some nodes were changed, others failed
	EventFailed     EventOutcome = "failed" // nothing was changed
)

// An Event is one operation on a target.
type Event struct {
	ID      string        `json:"id"`
	Op      Op            `json:"op"`
	By      string        `json:"by"`
	At      time.Time     `json:"at"`               // the beginning, by the server's clock
	Ended   time.Time     `json:"ended,omitzero"`   // the end; zero while unfinished
	Outcome EventOutcome  `json:"outcome"`          //
	Changes []EventChange `json:"changes"`          // the planned changes with their outcomes
	More    int           `json:"more,omitempty"`   // number of changes left out to keep the event small
	Forced  []string      `json:"forced,omitempty"` // of a forced retire: the first clients in use
}

// An EventChange is the same change of one library on one or more nodes.
type EventChange struct {
	Library string   `json:"library"`
	From    string   `json:"from,omitempty"`
	To      string   `json:"to,omitempty"`
	Outcome Outcome  `json:"outcome,omitempty"` // empty while unfinished
	Problem string   `json:"problem,omitempty"`
	Count   int      `json:"count"` // number of nodes
	Nodes   []string `json:"nodes"` // the first of them, by address
}

// Bounds of an event. All events together take at most keptEvents times maxEvent.
const (
	maxEvent   = 4 << 10 // bytes
	keptNodes  = 3
	keptForced = 10
)

// A nodeChange is a change on one node. Its Count and Nodes are unused.
type nodeChange struct {
	node string
	EventChange
}

// grouped merges equal changes of several nodes.
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

// text returns the event as JSON, at most maxEvent bytes. It drops successful changes first.
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

// History lists the last operations on the target, the newest first. Operations without changes are not recorded.
func (t *Target) History(ctx context.Context, last int) ([]Event, error) {
	rec, done, err := t.openRecords(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return rec.events(ctx, last)
}

func (rec records) events(ctx context.Context, last int) ([]Event, error) {
	reply, err := rec.read(ctx, "LRANGE", keyHistory, -2*max(last, 1), -1)
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

// event appends an event, once when it begins and once when it ends.
func (rec records) event(ctx context.Context, e Event) error {
	text, err := e.text()
	if err != nil {
		return err
	}
	if err := rec.write(ctx, "RPUSH", keyHistory, string(text)); err != nil {
		return err
	}
	return rec.write(ctx, "LTRIM", keyHistory, -keptEvents, -1)
}
