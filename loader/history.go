package loader

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// keptEvents is the number of stored events. An operation stores two: at its beginning and at its end.
const keptEvents = 1000

// An Event is one operation on a target.
type Event struct {
	ID      string        `json:"id"`
	Op      Op            `json:"op"`
	By      string        `json:"by"`
	At      time.Time     `json:"at"`               // the beginning, by the server's clock
	Ended   time.Time     `json:"ended,omitzero"`   // the end; zero while unfinished
	Outcome Outcome       `json:"outcome"`          // Unfinished, Done, Partly or Failed
	Changes []EventChange `json:"changes"`          // the planned changes with what came of them
	More    int           `json:"more,omitempty"`   // number of changes left out to keep the event small
	Forced  []string      `json:"forced,omitempty"` // of a forced retire: the first clients in use
}

// An EventChange is the same change of one library on one or more nodes.
type EventChange struct {
	Library string   `json:"library"`
	From    string   `json:"from,omitempty"`
	To      string   `json:"to,omitempty"`
	Result  string   `json:"result,omitempty"` // the step's [Step.Word]; empty while unfinished
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

// History lists the last operations on the target, the newest first. Operations without changes are not recorded.
func (t *Target) History(ctx context.Context, last int) ([]Event, error) {
	s, err := t.open(ctx, false)
	if err != nil {
		return nil, err
	}
	defer s.close()
	reply, err := s.records.do(ctx, "LRANGE", keyHistory, -2*max(last, 1), -1)
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
			return nil, foreign(keyHistory, err)
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

func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-3], "") + "..."
}

// changesOf lists the steps that count, those that failed first, and equal ones of several nodes together.
func changesOf(nodes []NodeSteps, counts func(NodeSteps, Step) bool) []EventChange {
	at, all := map[string]int{}, []EventChange{}
	for _, n := range nodes {
		for _, s := range n.Steps {
			if !counts(n, s) {
				continue
			}
			c := EventChange{Library: s.Library, From: s.From, To: s.To}
			if s.Outcome != "" {
				c.Result = s.Word()
				if s.Problem != nil {
					c.Problem = shorten(oneLine(s.Problem.Text), 200)
				}
			}
			i, ok := at[fmt.Sprint(c)]
			if !ok {
				i = len(all)
				at[fmt.Sprint(c)] = i
				all = append(all, c)
			}
			if all[i].Count++; all[i].Count <= keptNodes {
				all[i].Nodes = append(all[i].Nodes, n.Addr)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b EventChange) int { return cmp.Compare(min(len(b.Problem), 1), min(len(a.Problem), 1)) })
	return all
}

// text returns the event as JSON, at most maxEvent bytes.
func (e Event) text() ([]byte, error) {
	for {
		text, err := json.Marshal(e)
		last := len(e.Changes) - 1
		if err != nil || len(text) <= maxEvent || last < 0 {
			return text, err
		}
		e.More += e.Changes[last].Count
		e.Changes = e.Changes[:last]
	}
}
