package loader

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/loader/internal/conn"
	"github.com/rlfunc/rlfunc/loader/internal/resp"
)

// openSentinel asks all sentinels for the primary and follows the majority of those in the URL: a partitioned sentinel still
// names the former primary, and may be the only one that answers.
func (s *session) openSentinel(ctx context.Context, a *Address, replicas bool) error {
	s.connect = conn.LikeClient(a.options)
	sentinels := &session{connect: func(addr string) *redis.Client {
		o := *a.options
		o.Username, o.Password, o.DB = a.sentinelUser, a.sentinelPassword, 0
		return conn.Open(&o, addr, redis.NewClient)
	}}
	defer sentinels.close()
	for _, addr := range a.hosts {
		sentinels.add(Node{Addr: addr})
	}
	views := make([]sentinelView, len(sentinels.nodes))
	onEach(sentinels.nodes, func(i int, n *node) { views[i] = n.viewPrimary(ctx, a.primary, replicas) })

	votes := map[string]int{}
	for _, v := range views {
		if v.err == nil {
			votes[v.primary]++
		}
	}
	best := -1
	for i, v := range views {
		if v.err == nil && (best < 0 || votes[v.primary] > votes[views[best].primary]) {
			best = i
		}
	}
	if best < 0 {
		return noSentinel(views)
	}
	primary := views[best].primary
	if 2*votes[primary] <= len(views) {
		return noMajority(views)
	}
	s.records = records{s.add(Node{Addr: primary, Role: Primary}).Unpinned()}
	for _, addr := range views[best].replicas {
		s.add(Node{Addr: addr, Role: Replica, Follows: primary})
	}
	s.warnings = append(s.warnings, sentinelWarnings(views, primary)...)
	return nil
}

// A sentinelView is the answer of one sentinel.
type sentinelView struct {
	sentinel string
	primary  string
	replicas []string
	err      error
}

var errNoSuchPrimary = errors.New("no primary of that name")

func (n *node) viewPrimary(ctx context.Context, name string, replicas bool) sentinelView {
	v := sentinelView{sentinel: n.Addr}
	reply, err := n.Do(ctx, false, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", name)
	if errors.Is(err, redis.Nil) {
		err = fmt.Errorf("%w: %q", errNoSuchPrimary, name)
	}
	if err != nil {
		v.err = err
		return v
	}
	addr, _ := reply.([]any)
	if len(addr) == 2 {
		host, _ := addr[0].(string)
		port, _ := addr[1].(string)
		v.primary = net.JoinHostPort(host, port)
	} else {
		v.err = resp.FormatError(fmt.Sprintf("the primary's address is %v", reply))
	}
	if !replicas || v.err != nil {
		return v
	}
	// Until a failover ends, the former primary is not among the replicas but is the primary here. Asked in this order, a failover that
	// ends in between hides none.
	old, err := n.Do(ctx, false, "SENTINEL", "MASTER", name)
	if v.err = err; err != nil {
		return v
	}
	reply, v.err = n.Do(ctx, false, "SENTINEL", "REPLICAS", name)
	list, _ := reply.([]any)
	for _, item := range append(list, old) {
		fields := resp.Map(item)
		host, _ := fields["ip"].(string)
		port, _ := fields["port"].(string)
		addr := net.JoinHostPort(host, port)
		if host != "" && port != "" && addr != v.primary && !slices.Contains(v.replicas, addr) {
			v.replicas = append(v.replicas, addr)
		}
	}
	return v
}

// noSentinel returns why no sentinel names the primary.
func noSentinel(views []sentinelView) error {
	e := &Error{Op: "find the nodes", Reason: ErrUnreachable}
	var texts []string
	for _, v := range views {
		why := classify("", "", "", false, v.err)
		var reply redis.Error
		switch {
		case errors.Is(v.err, errNoSuchPrimary):
			why.Reason, why.Text = ErrUnsupported, "it knows "+v.err.Error()
		case errors.As(v.err, &reply) && why.Reason == ErrRejected:
			why.Reason, why.Text = ErrUnsupported, "it is not a sentinel: "+reply.Error()
		case errors.As(v.err, &reply) && why.Reason == ErrNoPermission:
			why.Text = reply.Error() + "; set the sentinels' user and password with ?sentinel_username= and &sentinel_password="
		}
		if !e.answered() {
			e.Reason, e.Cause = why.Reason, v.err
		}
		texts = append(texts, v.sentinel+": "+why.Text)
	}
	e.Text = strings.Join(texts, "; ")
	return e
}

// noMajority returns why the sentinels that answer do not suffice.
func noMajority(views []sentinelView) error {
	var texts []string
	for _, v := range views {
		if v.err != nil {
			texts = append(texts, v.sentinel+" does not answer: "+oneLine(plainText(v.err)))
		} else {
			texts = append(texts, v.sentinel+" names "+v.primary)
		}
	}
	return &Error{
		Op: "find the nodes", Reason: ErrUnreachable,
		Text: "no majority of the " + strconv.Itoa(len(views)) + " sentinels in the URL names one primary: " + strings.Join(texts, "; ") +
			"; try again when they agree, or use the URL of a sentinel that you trust",
	}
}

func sentinelWarnings(views []sentinelView, primary string) []Warning {
	var warnings []Warning
	for _, v := range views {
		switch {
		case v.err != nil:
			warnings = append(warnings, warning("sentinel_silent", "sentinel "+v.sentinel+" does not name the primary: "+oneLine(plainText(v.err)), ""))
		case v.primary != primary:
			warnings = append(warnings, warning("sentinels_differ",
				"sentinel "+v.sentinel+" names "+v.primary+" as primary, the majority names "+primary+"; a failover may be in progress", "plan again when they agree"))
		}
	}
	return warnings
}
