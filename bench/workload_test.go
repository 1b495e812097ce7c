package main

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
)

func TestWorkloads_rivalsAreRows(t *testing.T) {
	rows := map[string]bool{redisRate: true, redisRateFirst: true, redisRateRefused: true, fixedWindowPeer: true, zsetAcquire: true, zsetAgain: true, zsetRefused: true, zsetRenew: true, zsetRelease: true}
	for _, w := range workloads() {
		if rows[w.name] {
			t.Errorf("two rows are called %q", w.name)
		}
		rows[w.name] = true
	}
	for _, w := range workloads() {
		if w.rival != "" && !rows[w.rival] {
			t.Errorf("%s is compared with %q, which is not a row", w.name, w.rival)
		}
		if w.expect == "" {
			t.Errorf("%s takes any reply", w.name)
		}
	}
}

// Each row takes the path that its name tells, for the subject that is prepared and for its copies.
func TestWorkloads_areAnsweredAsExpected(t *testing.T) {
	engine := embedded.New(embedded.Options{})
	defer engine.Close()
	addr, err := engine.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &server{client: redis.NewClient(&redis.Options{Addr: addr.String()}), network: "tcp", addr: addr.String()}
	defer srv.client.Close()
	if err := srv.prepare(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	p, err := dial(srv.network, srv.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer p.conn.Close()
	for _, w := range workloads() {
		if testing.Short() && strings.Contains(w.name, "100000 open holds") {
			continue // those with fewer have the same answers
		}
		t.Run(w.name, func(t *testing.T) { checkAnswers(t, meter{client: srv.client, pipe: p}, w) })
	}
}

// checkAnswers calls once for each of three subjects, the first prepared and the others copies.
func checkAnswers(t *testing.T, m meter, w workload) {
	t.Helper()
	const subjects = 3
	if err := m.client.FlushDB(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if err := m.state(t.Context(), w, subjects, subject); err != nil {
		t.Fatal(err)
	}
	for i := range subjects {
		if err := m.pipe.send([][]byte{encode(w.call(subject(i))...)}, w.expect, w.call(subject(i))[1]); err != nil {
			t.Error(err)
		}
	}
}
