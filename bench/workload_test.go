package main

import "testing"

func TestWorkloads_rivalsAreRows(t *testing.T) {
	rows := map[string]bool{redisRate: true, fixedWindowPeer: true, zsetAcquire: true}
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
	srv := realServer(t)
	p, err := dial(srv.network, srv.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer p.conn.Close()
	peers, err := peerWorkloads(t.Context(), srv.client)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range append(workloads(), peers...) {
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
