package loader

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Each check speaks of what it is for, and is silent just below it and where the node may not be asked.
func TestChecks_reportOnlyTheirProblem(t *testing.T) {
	type info = map[string]string
	for _, c := range []struct {
		name  string
		facts facts
		want  []string
	}{
		{"nothing may be asked", facts{}, nil},
		{"32 bits", facts{info: info{"arch_bits": "32"}}, []string{"bits"}},
		{"64 bits", facts{info: info{"arch_bits": "64"}}, nil},
		{"a replica without its primary", facts{info: info{"master_link_status": "down"}}, []string{"replica_link_down"}},
		{"a replica", facts{info: info{"master_link_status": "up"}}, nil},
		{"a replica that says it is none", facts{role: Primary, state: NodeState{Node: Node{Follows: "a:1"}}}, []string{"role_differs"}},
		{"a snapshot that failed", facts{info: info{"rdb_last_bgsave_status": "err"}}, []string{"not-saving"}},
		{"an append-only file that failed", facts{info: info{"aof_last_write_status": "err"}}, []string{"not-saving"}},
		{"a clock ahead", facts{ahead: 2 * time.Second}, []string{"clock"}},
		{"a clock behind", facts{ahead: -2 * time.Second}, []string{"clock"}},
		{"a clock that the way there may explain", facts{ahead: 2 * time.Second, uncertainty: 1500 * time.Millisecond}, nil},
		{"open to all", facts{open: true, config: info{"protected-mode": "no"}}, []string{"open"}},
		{"open to the machine itself", facts{open: true, config: info{"protected-mode": "yes"}}, nil},
	} {
		var got []string
		for _, w := range append(c.facts.replication(), c.facts.server()...) {
			got = append(got, w.ID)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
