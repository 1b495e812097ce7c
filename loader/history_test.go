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
	var same, different []loader.EventChange
	for i := range 1000 {
		c := loader.EventChange{Library: fmt.Sprintf("shop%d_v1", i%5), From: "1.0.0", To: "1.1.0", Outcome: loader.Upgraded}
		same = append(same, c)
		if i != 500 {
			c.Outcome, c.Problem = loader.Failed, fmt.Sprint(i, strings.Repeat(" does not answer", 100))
		}
		different = append(different, c)
	}
	for name, changes := range map[string][]loader.EventChange{"the same everywhere": same, "something else on each node": different} {
		text, err := loader.EventText(loader.Event{ID: "x"}, changes)
		if err != nil || len(text) > 4096 {
			t.Errorf("%s: %d bytes, %v", name, len(text), err)
		}
		var e loader.Event
		if err := json.Unmarshal(text, &e); err != nil {
			t.Fatal(err)
		}
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
