package loader_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/loader"
)

func TestHistory_eventTakesAtMost4KiB(t *testing.T) {
	t.Parallel()
	var same, different []loader.NodeSteps
	for i := range 1000 {
		n := loader.NodeSteps{Node: loader.Node{Addr: fmt.Sprintf("%0200d:6379", i)}}
		s := loader.Step{Library: fmt.Sprintf("shop%d_v1", i%5), Action: loader.Upgrade, From: "1.0.0", To: "1.1.0", Outcome: loader.Done}
		n.Steps = []loader.Step{s}
		same = append(same, n)
		if i != 500 {
			s.Outcome, s.Problem = loader.Failed, &loader.Error{Text: fmt.Sprint(i, strings.Repeat(" does not answer", 100))}
		}
		n.Steps = []loader.Step{s}
		different = append(different, n)
	}
	for name, nodes := range map[string][]loader.NodeSteps{"the same everywhere": same, "something else on each node": different} {
		text, err := loader.EventText(loader.Event{ID: "x"}, nodes)
		if err != nil || len(text) > 4096 {
			t.Errorf("%s: %d bytes, %v", name, len(text), err)
		}
		var e loader.Event
		must(t, json.Unmarshal(text, &e))
		count := e.More
		for _, c := range e.Changes {
			count += c.Count
			if name != "the same everywhere" && c.Problem == "" {
				t.Error("a change that ended well was kept instead of a failure")
			}
		}
		equal(t, "changes, "+name, 1000, count)
	}
}
