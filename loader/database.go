package loader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
)

// inDatabase0 returns a client like c whose connections are in database 0. Functions belong to a server, so everything that deploys
// write down about them is in one database. It returns c, and nothing to close, where c is in database 0, or has no number of its own.
func inDatabase0(c fcall.Caller) (fcall.Caller, io.Closer) {
	switch c := c.(type) {
	case *redis.Client:
		if c.Options().DB != 0 || c.Options().OnConnect != nil {
			o := *c.Options()
			o.DB = 0
			zero := connectNode(&o, o.Addr, redis.NewClient)
			return zero, zero
		}
	case *redis.Ring:
		if c.Options().DB != 0 {
			o := *c.Options()
			o.DB = 0
			zero := redis.NewRing(&o)
			return zero, zero
		}
	}
	return c, nil
}

// inDatabase0 is such a client for the time of the session.
func (s *session) inDatabase0(c fcall.Caller) fcall.Caller {
	zero, own := inDatabase0(c)
	if own != nil {
		s.opened = append(s.opened, own)
	}
	return zero
}

// clients lists the processes that announced themselves since then, in any database: those of a build that wrote to the database of its
// service are among them. The warnings say which databases cannot be read.
func (s *session) clients(ctx context.Context, since time.Time) ([]Client, []Warning, error) {
	clients, err := s.book.clients(ctx, since)
	if err != nil {
		return nil, nil, err
	}
	more, warnings := make([][]Client, len(s.nodes)), make([][]Warning, len(s.nodes))
	onEach(s.nodes, func(i int, n *node) {
		if n.loadable() && n.client != nil && n.problem == nil {
			more[i], warnings[i] = n.otherClients(ctx, since)
		}
	})
	clients = append(clients, slices.Concat(more...)...)
	slices.SortFunc(clients, compareClients)
	return clients, slices.Concat(warnings...), nil
}

// otherClients are those in the node's databases except 0.
func (n *node) otherClients(ctx context.Context, since time.Time) ([]Client, []Warning) {
	info := n.ask(ctx).info
	if info == nil {
		return nil, []Warning{unseenDatabases(n.Addr, "the databases except 0", "+info and +select", n.answer.err)}
	}
	var all []Client
	var unseen []string
	var why error
	for _, db := range databases(info) {
		conn := n.client.EphemeralConn()
		on := &node{Node: n.Node, caller: conn}
		_, err := on.do(ctx, false, "SELECT", db)
		if err == nil {
			var clients []Client
			clients, err = book{conn}.clients(ctx, since)
			all = append(all, clients...)
		}
		go conn.Close()
		if err != nil && !strings.HasPrefix(causeOf(err), "MOVED ") { // another node of a cluster has the key
			unseen, why = append(unseen, strconv.Itoa(db)), err
		}
	}
	if len(unseen) > 0 {
		return all, []Warning{unseenDatabases(n.Addr, "database "+strings.Join(unseen, ", "), "+select", why)}
	}
	return all, nil
}

func unseenDatabases(addr, which, permission string, why error) Warning {
	text := fmt.Sprintf("%s: cannot look at %s for clients: the user needs %s", addr, which, permission)
	if why != nil {
		text += ": " + causeOf(why)
	}
	return Warning{Code: "databases_unseen", Text: text}
}

// databases are the numbers of the databases that hold keys, except 0.
func databases(info map[string]string) []int {
	var all []int
	for name := range info {
		number, ok := strings.CutPrefix(name, "db")
		if n, err := strconv.Atoi(number); ok && err == nil && n > 0 {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all
}

// causeOf is what the server said, or the text of an error that is not a reply.
func causeOf(err error) string {
	var reply redis.Error
	if errors.As(err, &reply) {
		return reply.Error()
	}
	return oneLine(err.Error())
}
