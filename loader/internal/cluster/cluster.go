// Package cluster reads what a node says about its cluster: CLUSTER NODES, CLUSTER SHARDS and hash slots.
package cluster

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/internal/hashslot"
	"github.com/rlfunc/rlfunc/loader/internal/resp"
)

// A Node is one line of CLUSTER NODES.
type Node struct {
	ID      string
	host    string // as announced; empty if a node does not know its own address
	port    string
	flags   []string
	Primary string // of a replica: the ID of its primary
	Slots   []SlotRange
	Moving  []string // "93 to <id>" and "77 from <id>"; only the node itself lists them
}

// A SlotRange is hash slots, first and last included.
type SlotRange struct{ First, Last int }

// Is reports whether the node has a flag, such as "myself" or "fail?".
func (n Node) Is(flag string) bool { return slices.Contains(n.flags, flag) }

// ParseNodes parses the reply of CLUSTER NODES. It ignores fields and flags that it does not know.
func ParseNodes(text string) ([]Node, error) {
	var nodes []Node
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		n, err := parseNode(strings.Fields(line))
		if err != nil {
			return nil, resp.FormatError(fmt.Sprintf("the list of the cluster's nodes has a malformed line %q: %v", line, err))
		}
		nodes = append(nodes, n)
	}
	if len(nodes) == 0 {
		return nil, resp.FormatError("the list of the cluster's nodes is empty")
	}
	return nodes, nil
}

// parseNode parses `id ip:port@busport[,hostname[,...]] flags primary ping pong epoch link [slots...]`.
func parseNode(fields []string) (Node, error) {
	if len(fields) < 8 {
		return Node{}, fmt.Errorf("it has %d fields", len(fields))
	}
	n := Node{ID: fields[0], flags: strings.Split(fields[2], ",")}
	addr, _, _ := strings.Cut(fields[1], ",")
	addr, _, _ = strings.Cut(addr, "@")
	colon := strings.LastIndexByte(addr, ':')
	if colon < 0 {
		return Node{}, fmt.Errorf("%q is not an address", fields[1])
	}
	n.host, n.port = strings.Trim(addr[:colon], "[]"), addr[colon+1:]
	if fields[3] != "-" {
		n.Primary = fields[3]
	}
	for _, slots := range fields[8:] {
		if moving, ok := strings.CutPrefix(slots, "["); ok {
			moving = strings.TrimSuffix(moving, "]")
			moving = strings.Replace(moving, "->-", " to ", 1)
			n.Moving = append(n.Moving, strings.Replace(moving, "-<-", " from ", 1))
			continue
		}
		first, last, ok := strings.Cut(slots, "-")
		if !ok {
			last = first
		}
		r := SlotRange{}
		var err error
		if r.First, err = strconv.Atoi(first); err == nil {
			r.Last, err = strconv.Atoi(last)
		}
		if err != nil {
			return Node{}, fmt.Errorf("%q is not a slot range", slots)
		}
		n.Slots = append(n.Slots, r)
	}
	return n, nil
}

// Endpoints reads from the reply of CLUSTER SHARDS which host clients use for each node, by ID. "" means the host that they
// have reached already.
func Endpoints(reply any) map[string]string {
	endpoints := map[string]string{}
	shards, _ := reply.([]any)
	for _, shard := range shards {
		nodes, _ := resp.Map(shard)["nodes"].([]any)
		for _, item := range nodes {
			fields := resp.Map(item)
			id, _ := fields["id"].(string)
			endpoint, known := fields["endpoint"]
			text, _ := endpoint.(string) // nil is the host that clients have reached already
			if id != "" && known && text != "?" {
				endpoints[id] = text
			}
		}
	}
	return endpoints
}

// Addr is the address of the node for a client that has read about it from the server at seed. endpoints may lack the node.
func (n Node) Addr(seed string, endpoints map[string]string) string {
	host := n.host
	if endpoint, ok := endpoints[n.ID]; ok {
		host = endpoint
	}
	seedHost := seed
	if h, _, err := net.SplitHostPort(seed); err == nil {
		seedHost = h
	}
	if host == "" || isLoopback(host) && !isLoopback(seedHost) {
		// A node without peers does not know its address. A node behind a mapped port announces an address that only it can use.
		host = seedHost
	}
	return net.JoinHostPort(host, n.port)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// TagNumber returns the smallest number whose hash tag, prefix followed by the number, is in one of the slots, and false if
// there are no slots.
func TagNumber(prefix string, owned []SlotRange) (int, bool) {
	if len(owned) == 0 {
		return 0, false
	}
	// The slots of the numbers are spread evenly. An owner of a single slot needs hashslot.Count tries on average; one of e^64 such
	// owners needs more than 64 times as many.
	for n := range 64 * hashslot.Count {
		slot := hashslot.Of(prefix + strconv.Itoa(n))
		for _, r := range owned {
			if r.First <= slot && slot <= r.Last {
				return n, true
			}
		}
	}
	return 0, false
}

// OwnSlots returns the slots that a node owns and does not migrate, from its own CLUSTER NODES. A key of a migrating slot may
// be on either node.
func OwnSlots(text string) ([]SlotRange, error) {
	nodes, err := ParseNodes(text)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(nodes, func(n Node) bool { return n.Is("myself") })
	if i < 0 {
		return nil, resp.FormatError("the list of the cluster's nodes does not say which one is its own")
	}
	moving := map[int]bool{}
	for _, m := range nodes[i].Moving {
		number, _, _ := strings.Cut(m, " ")
		if slot, err := strconv.Atoi(number); err == nil {
			moving[slot] = true
		}
	}
	return exclude(nodes[i].Slots, moving), nil
}

// exclude removes single slots from ranges.
func exclude(ranges []SlotRange, out map[int]bool) []SlotRange {
	if len(out) == 0 {
		return ranges
	}
	var left []SlotRange
	for _, r := range ranges {
		first := r.First
		for slot := r.First; slot <= r.Last; slot++ {
			if out[slot] {
				if first < slot {
					left = append(left, SlotRange{first, slot - 1})
				}
				first = slot + 1
			}
		}
		if first <= r.Last {
			left = append(left, SlotRange{first, r.Last})
		}
	}
	return left
}

// Uncovered returns the number of slots without a working primary, and the first of them.
func Uncovered(nodes []Node) (count, first int) {
	covered := make([]bool, hashslot.Count)
	for _, n := range nodes {
		for _, r := range n.Slots {
			for slot := max(r.First, 0); slot <= min(r.Last, hashslot.Count-1) && !n.Is("fail"); slot++ {
				covered[slot] = true
			}
		}
	}
	for _, c := range covered {
		if !c {
			count++
		}
	}
	return count, slices.Index(covered, false)
}
