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
		{"a function for two seconds", facts{running: "shop_v1_buy", since: 2 * time.Second}, []string{"busy"}},
		{"a function for a moment", facts{running: "shop_v1_buy", since: time.Millisecond}, nil},
		{"a replica without its primary", facts{info: info{"master_link_status": "down"}}, []string{"replica_link_down"}},
		{"a replica", facts{info: info{"master_link_status": "up"}}, nil},
		{"a snapshot that failed", facts{info: info{"rdb_last_bgsave_status": "err"}}, []string{"not-saving"}},
		{"an append-only file that failed", facts{info: info{"aof_last_write_status": "err"}}, []string{"not-saving"}},
		{"four fifths of the clients", facts{info: info{"connected_clients": "80"}, config: info{"maxclients": "100"}}, []string{"clients"}},
		{"fewer clients", facts{info: info{"connected_clients": "79"}, config: info{"maxclients": "100"}}, nil},
		{"a clock ahead", facts{clockKnown: true, ahead: 2 * time.Second}, []string{"clock"}},
		{"a clock behind", facts{clockKnown: true, ahead: -2 * time.Second}, []string{"clock"}},
		{"a clock that the way there may explain", facts{clockKnown: true, ahead: 2 * time.Second, uncertainty: 1500 * time.Millisecond}, nil},
		{"a threshold of a minute", facts{config: info{"busy-reply-threshold": "60000"}}, []string{"threshold"}},
		{"the usual threshold", facts{config: info{"busy-reply-threshold": "5000"}}, nil},
		{"open to all", facts{open: true, config: info{"protected-mode": "no"}}, []string{"open"}},
		{"open to the machine itself", facts{open: true, config: info{"protected-mode": "yes"}}, nil},
	} {
		var got []string
		for _, check := range checks {
			if check.look(c.facts) != "" {
				got = append(got, check.id)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestOf_listsFaultsOfVersion(t *testing.T) {
	for _, c := range []struct {
		kind, version string
		want          []string
	}{
		{"Redis", "7.0.15", []string{"lua-cve", "raised-table-crash", "function-case-crash"}},
		{"Redis", "7.2.6", []string{"lua-cve", "raised-table-crash", "error-newline"}},
		{"Redis", "7.2.11", []string{"raised-table-crash"}},
		{"Redis", "8.0.2", []string{"lua-cve", "raised-table-crash", "call-argument-crash", "function-case-crash"}},
		{"Redis", "8.0.6", []string{"call-argument-crash"}},
		{"Redis", "8.4.0", nil},
		{"Valkey", "8.1.1", []string{"lua-cve", "raised-table-crash", "function-case-crash"}},
		{"Valkey", "8.1.4", nil},
		{"Valkey", "9.1.2", []string{"load-log-crash"}},
		{"embedded", "7.2.0", nil},
		{"Redis", "", nil},
		{"Redis", "unstable", nil},
	} {
		var got []string
		for _, f := range faultsOf(Server{Kind: c.kind, Version: c.version}) {
			got = append(got, f.id)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.kind, c.version, diff)
		}
	}
}
