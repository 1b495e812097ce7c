package doctor_test

import (
	"net"
	"sync/atomic"
	"testing"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/loader"
	"github.com/rlfunc/rlfunc/loader/doctor"
)

// A node that does not answer is asked to find it, twice, and no check: each would take its whole time.
func TestDiagnose_unreachableNodeIsAskedOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var connections atomic.Int64
	go func() {
		for {
			if _, err := l.Accept(); err != nil {
				return
			}
			connections.Add(1)
		}
	}()
	target, err := loader.Open("redis://" + l.Addr().String() + "?read_timeout=20ms")
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	if _, err := target.Plan(t.Context(), ratelimit.Library); err != nil {
		t.Fatal(err)
	}
	plan := connections.Swap(0)
	d, err := doctor.Diagnose(t.Context(), target, ratelimit.Library)
	if err != nil {
		t.Fatal(err)
	}
	if d.Count(doctor.Problem) != 1 || connections.Load() > 2*plan {
		t.Errorf("%d connections, and a plan makes %d; findings: %v", connections.Load(), plan, d.Findings)
	}
}
