package loader

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/fcall"
)

// A Client is a program that is connected to a node and says by [fcall.Identity] which libraries it uses: all connections of one name, host
// and version. Its texts are safe to print.
type Client struct {
	Library string `json:"library"`        // "ratelimit_v1"
	Version string `json:"version"`        // of the source that the client was generated from
	Name    string `json:"name,omitempty"` // of CLIENT SETNAME: go-redis' ClientName
	Host    string `json:"host"`           // the address without its port, as the node sees it
	Count   int    `json:"connections"`    // to all nodes together
}

// String names the client: "checkout at 10.0.0.7 (1.0.0)".
func (c Client) String() string {
	return fmt.Sprintf("%s at %s (%s)", cmp.Or(c.Name, "a program without a name"), c.Host, c.Version)
}

// Clients lists the programs that are connected to a node, and say which libraries they use, by library, version and name. Warnings say on
// which nodes that cannot be known.
func (t *Target) Clients(ctx context.Context) ([]Client, []Warning, error) {
	s, err := t.open(ctx, true)
	if err != nil {
		return nil, nil, err
	}
	defer s.close()
	clients, warnings := s.clients(ctx)
	return clients, warnings, nil
}

func (s *session) clients(ctx context.Context) ([]Client, []Warning) {
	lists, unknown := make([]map[Client]int, len(s.nodes)), make([]string, len(s.nodes))
	onEach(s.nodes, func(i int, n *node) { lists[i], unknown[i] = n.clients(ctx) })
	counts, silent := map[Client]int{}, map[string][]string{}
	for i, n := range s.nodes {
		for c, count := range lists[i] {
			counts[c] += count
		}
		if unknown[i] != "" {
			silent[unknown[i]] = append(silent[unknown[i]], n.Addr)
		}
	}
	all := []Client{} // not nil, which JSON would show as null
	for c, count := range counts {
		c.Count = count
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Client) int {
		return cmp.Or(strings.Compare(a.Library, b.Library), strings.Compare(a.Version, b.Version), strings.Compare(a.Name, b.Name), strings.Compare(a.Host, b.Host))
	})
	var warnings []Warning
	for _, why := range slices.Sorted(maps.Keys(silent)) {
		warnings = append(warnings, warning("clients_unknown", "who uses the libraries is not known on "+strings.Join(silent[why], ", ")+": "+why, ""))
	}
	return all, warnings
}

// clients reads CLIENT LIST, or says why it does not tell.
func (n *node) clients(ctx context.Context) (map[Client]int, string) {
	if n.problem != nil {
		return nil, n.problem.Text
	}
	text, err := n.client.ClientList(ctx).Result()
	switch {
	case isReply(err):
		return nil, "it answered CLIENT LIST with " + printable(err.Error())
	case err != nil:
		return nil, classify("", "", "", false, err).Text
	}
	if text != "" && !strings.Contains(text, " lib-name=") {
		return nil, "only Redis 7.2, Valkey 7.2 and later tell"
	}
	counts := map[Client]int{}
	for line := range strings.Lines(text) {
		field := pairs(line, " ")
		host, _, err := net.SplitHostPort(field["addr"])
		if err != nil {
			host = field["addr"] // of a socket: its path
		}
		for library, version := range fcall.ParseIdentity(field["lib-name"]) {
			counts[Client{Library: library, Version: version, Name: printable(field["name"]), Host: printable(host)}]++
		}
	}
	return counts, ""
}

// printable bounds a text that a client has chosen, and escapes what a terminal would obey.
func printable(text string) string {
	text = strconv.Quote(shorten(text, 64))
	return text[1 : len(text)-1]
}

// findUsers sets the clients of a retire's plan.
func (s *session) findUsers(ctx context.Context, p *Plan) {
	clients, warnings := s.clients(ctx)
	p.Clients = slices.DeleteFunc(clients, func(c Client) bool { return c.Library != p.Libraries[0].ServerName })
	p.Warnings = append(p.Warnings, warnings...)
}

// InUse returns the ErrInUse of a retire without Force, or nil.
func (p *Plan) InUse() error {
	if len(p.Clients) == 0 {
		return nil
	}
	who := p.Clients[0].String()
	if more := len(p.Clients) - 1; more > 0 {
		who += fmt.Sprintf(" and %d more", more)
	}
	return &Error{
		Op: "retire", Library: p.Libraries[0].ServerName, Reason: ErrInUse,
		Text: "connected clients use it: " + who + "; nothing was deleted; stop them, or give --force, which makes their calls fail",
	}
}

// PlanRetire returns a plan that removes a library from every node, and the clients that use it now. It changes nothing; [Target.Apply]
// executes the plan, and refuses with ErrInUse while there are such clients. It removes nothing that rlfunc did not generate. It records
// the source first, so PlanRollback with To restores it, and deletes the records of other releases. A service of that major version that
// starts loads it again.
func (t *Target) PlanRetire(ctx context.Context, serverName string) (*Plan, error) {
	s, err := t.open(ctx, true)
	if err != nil {
		return nil, err
	}
	defer s.close()
	states := s.check(ctx)
	lib := &fcall.Library{ServerName: serverName}
	if l := present(states, serverName); l != nil {
		lib.Name, lib.Version = l.Name, l.Version
	}
	p := planFor(states, []*fcall.Library{lib}, OpRetire)
	s.records.remember(ctx, p)
	s.findUsers(ctx, p)
	return p, nil
}
