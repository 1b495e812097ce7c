package web_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/internal/web"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// rules are those of the endpoints of a policy.
type rules struct {
	endpoint string
	open     *atomic.Int64
}

func (r *rules) Close() error {
	r.open.Add(-1)
	return nil
}

func TestFollowed_compilesEachPolicyOnce(t *testing.T) {
	g, err := guard.New(embedded.RunT(t).Client(), of(t, "first"), guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	var compiled, open atomic.Int64
	f, err := web.Follow(g, func(p *policy.Policy) (*rules, error) {
		name := p.Endpoints[0].Name
		if strings.HasPrefix(name, "bad") {
			return nil, errors.New("no " + name)
		}
		compiled.Add(1)
		open.Add(1)
		return &rules{name, &open}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	current := func(want string, policies int64) {
		t.Helper()
		for range 3 {
			if got := f.Current().endpoint; got != want {
				t.Fatalf("rules of %s, want those of %s", got, want)
			}
		}
		if compiled.Load() != policies {
			t.Errorf("compiled %d policies, want %d", compiled.Load(), policies)
		}
		for range 1000 { // those of the policy before are closed in the background
			if open.Load() == 1 {
				return
			}
			time.Sleep(time.Millisecond)
		}
		t.Errorf("%d rules are open", open.Load())
	}
	current("first", 1)
	if err := g.SetPolicy(of(t, "bad")); err == nil || f.Current().endpoint != "first" {
		t.Errorf("error %v; the rules are those of %s", err, f.Current().endpoint)
	}
	if err := g.SetPolicy(of(t, "second")); err != nil {
		t.Fatal(err)
	}
	current("second", 2)
	for _, name := range []string{"third", "fourth"} { // no request in between
		if err := g.SetPolicy(of(t, name)); err != nil {
			t.Fatal(err)
		}
	}
	current("fourth", 4)
	if err := g.SetPolicy(of(t, "fourth")); err != nil {
		t.Fatal(err)
	}
	current("fourth", 4)
}

func of(t *testing.T, endpoint string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse("policy.yaml", []byte("version: 1\nendpoints: [{name: "+endpoint+", limits: [{name: minute, by: all, limit: 1, window: 1m}]}]"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}
