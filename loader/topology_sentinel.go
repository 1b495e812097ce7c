package loader

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/redis/go-redis/v9"
)

// openSentinel asks all sentinels for the primary and follows the majority of those in the URL: a partitioned sentinel still
// names the former primary, and may be the only one that answers.
func (s *session) openSentinel(ctx context.Context, a *Address, replicas bool) error {
	o := *a.options.Simple()
	s.connect = like(o, redis.NewClient)
	o.Username, o.Password = a.options.SentinelUsername, a.options.SentinelPassword
	sentinels := &session{connect: like(o, redis.NewClient)}
	defer sentinels.close()
	for _, addr := range a.options.Addrs {
		sentinels.add(Node{Addr: addr})
	}
	views := make([]sentinelView, len(sentinels.nodes))
	onEach(sentinels.nodes, func(i int, n *node) { views[i] = n.viewPrimary(ctx, a.options.MasterName, replicas) })

	votes, best := map[string]int{}, sentinelView{}
	var said []*Error
	for _, v := range views {
		if v.err == nil {
			v.err = &Error{Node: v.sentinel, Reason: ErrUnreachable, Text: "it names " + v.primary}
			if votes[v.primary]++; votes[v.primary] > votes[best.primary] {
				best = v
			}
		}
		said = append(said, v.err)
	}
	if 2*votes[best.primary] <= len(views) {
		why := ""
		if best.primary != "" {
			why = fmt.Sprintf("no majority of the %d sentinels in the URL names one primary; try again when they agree, or use the URL of a sentinel that you trust", len(views))
		}
		return unfound(why, said)
	}
	s.records.server = s.add(Node{Addr: best.primary, Role: Primary}).client
	for _, addr := range best.replicas {
		s.add(Node{Addr: addr, Role: Replica, Follows: best.primary})
	}
	for i, v := range views {
		if v.err != nil || v.primary != best.primary {
			s.warnings = append(s.warnings, warning("sentinels_differ",
				"the majority of the sentinels names "+best.primary+" as primary, and sentinel "+v.sentinel+" does not: "+said[i].Text, "if a failover is in progress, plan again when it is over"))
		}
	}
	return nil
}

// A sentinelView is the answer of one sentinel.
type sentinelView struct {
	sentinel string
	primary  string
	replicas []string
	err      *Error
}

func (n *node) viewPrimary(ctx context.Context, name string, replicas bool) sentinelView {
	v := sentinelView{sentinel: n.Addr}
	fail := func(err error) sentinelView {
		v.err = classify("find the nodes", "", n.Addr, false, err)
		switch {
		case errors.Is(err, redis.Nil):
			v.err.Reason, v.err.Text = ErrUnsupported, fmt.Sprintf("it knows no primary of that name: %q", name)
		case isReply(err) && v.err.Reason == ErrRejected:
			v.err.Reason, v.err.Text = ErrUnsupported, "it is not a sentinel: "+err.Error()
		case isReply(err) && v.err.Reason == ErrNoPermission:
			v.err.Text = err.Error() + "; set the sentinels' user and password with ?sentinel_username= and &sentinel_password="
		}
		return v
	}
	addr, err := n.client.Do(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", name).StringSlice()
	if err != nil {
		return fail(err)
	}
	if len(addr) != 2 {
		return fail(malformed("the primary's address is %v", addr))
	}
	v.primary = net.JoinHostPort(addr[0], addr[1])
	if !replicas {
		return v
	}
	// Until a failover ends, the former primary is not among the replicas but is the primary here. Asked in this order, a failover that
	// ends in between hides none.
	old, err := n.client.Do(ctx, "SENTINEL", "MASTER", name).Result()
	if err != nil {
		return fail(err)
	}
	list, err := n.client.Do(ctx, "SENTINEL", "REPLICAS", name).Slice()
	if err != nil {
		return fail(err)
	}
	for _, item := range append(list, old) {
		fields := fieldMap(item)
		host, _ := fields["ip"].(string)
		port, _ := fields["port"].(string)
		addr := net.JoinHostPort(host, port)
		if host != "" && port != "" && addr != v.primary && !slices.Contains(v.replicas, addr) {
			v.replicas = append(v.replicas, addr)
		}
	}
	return v
}
