package loader

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/loader/internal/resp"
)

// A clusterNode is one line of CLUSTER NODES.
type clusterNode struct {
	id      string
	host    string // as announced; empty where a node does not know its own address
	port    string
	flags   []string
	primary string // the id, of a replica
	slots   []slotRange
	moving  []string // "93 to <id>" and "77 from <id>"; only the node itself tells them
}

// A slotRange is hash slots, first and last included.
type slotRange struct{ first, last int }

func (n clusterNode) is(flag string) bool { return slices.Contains(n.flags, flag) }

// readClusterNodes reads the reply of CLUSTER NODES. Further fields and flags are for later versions of servers.
func readClusterNodes(text string) ([]clusterNode, error) {
	var nodes []clusterNode
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		n, err := readClusterNode(strings.Fields(line))
		if err != nil {
			return nil, listError(fmt.Sprintf("the list of the cluster's nodes has the line %q: %v", line, err))
		}
		nodes = append(nodes, n)
	}
	if len(nodes) == 0 {
		return nil, listError("the list of the cluster's nodes is empty")
	}
	return nodes, nil
}

// readClusterNode reads `id ip:port@busport[,hostname[,...]] flags primary ping pong epoch link [slots...]`.
func readClusterNode(fields []string) (clusterNode, error) {
	if len(fields) < 8 {
		return clusterNode{}, fmt.Errorf("it has %d fields", len(fields))
	}
	n := clusterNode{id: fields[0], flags: strings.Split(fields[2], ",")}
	addr, _, _ := strings.Cut(fields[1], ",")
	addr, _, _ = strings.Cut(addr, "@")
	colon := strings.LastIndexByte(addr, ':')
	if colon < 0 {
		return clusterNode{}, fmt.Errorf("%q is no address", fields[1])
	}
	n.host, n.port = strings.Trim(addr[:colon], "[]"), addr[colon+1:]
	if fields[3] != "-" {
		n.primary = fields[3]
	}
	for _, slots := range fields[8:] {
		if moving, ok := strings.CutPrefix(slots, "["); ok {
			moving = strings.TrimSuffix(moving, "]")
			moving = strings.Replace(moving, "->-", " to ", 1)
			n.moving = append(n.moving, strings.Replace(moving, "-<-", " from ", 1))
			continue
		}
		first, last, ok := strings.Cut(slots, "-")
		if !ok {
			last = first
		}
		r := slotRange{}
		var err error
		if r.first, err = strconv.Atoi(first); err == nil {
			r.last, err = strconv.Atoi(last)
		}
		if err != nil {
			return clusterNode{}, fmt.Errorf("%q are no slots", slots)
		}
		n.slots = append(n.slots, r)
	}
	return n, nil
}

// readEndpoints reads from the reply of CLUSTER SHARDS by which host clients are to reach each node; "" means the one that they have
// reached already.
func readEndpoints(reply any) map[string]string {
	endpoints := map[string]string{}
	shards, _ := reply.([]any)
	for _, shard := range shards {
		nodes, _ := resp.Map(shard)["nodes"].([]any)
		for _, item := range nodes {
			fields := resp.Map(item)
			id, _ := fields["id"].(string)
			endpoint, known := fields["endpoint"]
			text, _ := endpoint.(string) // nil is what clients have reached already
			if id != "" && known && text != "?" {
				endpoints[id] = text
			}
		}
	}
	return endpoints
}

// reach is the address at which a client reaches the node, which read of it from the server at seed. endpoints may lack it.
func (n clusterNode) reach(seed string, endpoints map[string]string) string {
	host := n.host
	if endpoint, ok := endpoints[n.id]; ok {
		host = endpoint
	}
	seedHost, _ := splitAddr(seed)
	if host == "" || isLoopback(host) && !isLoopback(seedHost) {
		// A node that nobody has met does not know its address; one behind a mapped port announces what only itself can use.
		host = seedHost
	}
	return net.JoinHostPort(host, n.port)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
