package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/loader/internal/conn"
	"github.com/rlfunc/rlfunc/loader/internal/resp"
)

// A Client is a process that announced that it uses a library.
type Client struct {
	Library  string    `json:"library"` // "ratelimit_v1"
	Version  string    `json:"version"` // of the source that the client was generated from
	Instance string    `json:"instance"`
	Seen     time.Time `json:"seen"` // by the server's clock
}

// Clients lists the processes that announced themselves within the last day, by library, version and instance.
func (t *Target) Clients(ctx context.Context) ([]Client, error) {
	s, err := t.open(ctx, false)
	if err != nil {
		return nil, err
	}
	defer s.close()
	now, err := s.records.now(ctx)
	if err != nil {
		return nil, err
	}
	clients, _, err := s.clients(ctx, now.Add(-seenFor))
	return clients, err
}

func (rec records) clients(ctx context.Context, since time.Time) ([]Client, error) {
	reply, err := rec.read(ctx, "ZRANGEBYSCORE", keyClients, since.UnixMilli(), "+inf", "WITHSCORES")
	if err != nil {
		return nil, err
	}
	clients := []Client{}
	for _, row := range resp.Pairs(reply) {
		member, _ := row[0].(string)
		who, instance, _ := strings.Cut(member, " ")
		library, version, _ := strings.Cut(who, "@")
		millis, ok := resp.Int(row[1])
		if !ok || library == "" {
			return nil, resp.FormatError(keyClients + " holds something that rlfunc did not write; remove it")
		}
		clients = append(clients, Client{Library: library, Version: version, Instance: instance, Seen: time.UnixMilli(millis).UTC()})
	}
	slices.SortFunc(clients, compareClients)
	return clients, nil
}

func compareClients(a, b Client) int {
	return cmp.Or(strings.Compare(a.Library, b.Library), strings.Compare(a.Version, b.Version), strings.Compare(a.Instance, b.Instance))
}

// inDatabase0 returns the client in database 0, and closes it with the session.
func (s *session) inDatabase0(c fcall.Caller) fcall.Caller {
	zero, own := conn.InDatabase0(c)
	if own != nil {
		s.opened = append(s.opened, own)
	}
	return zero
}

// clients lists the processes that announced themselves since then, in any database: older builds used the database of their
// service. The warnings name databases that cannot be read.
func (s *session) clients(ctx context.Context, since time.Time) ([]Client, []Warning, error) {
	clients, err := s.records.clients(ctx, since)
	if err != nil {
		return nil, nil, err
	}
	more, warnings := make([][]Client, len(s.nodes)), make([][]Warning, len(s.nodes))
	onEach(s.nodes, func(i int, n *node) {
		if n.loadable() && n.Client != nil && n.problem == nil {
			more[i], warnings[i] = n.otherClients(ctx, since)
		}
	})
	clients = append(clients, slices.Concat(more...)...)
	slices.SortFunc(clients, compareClients)
	return clients, slices.Concat(warnings...), nil
}

// otherClients lists the clients in the node's databases other than 0.
func (n *node) otherClients(ctx context.Context, since time.Time) ([]Client, []Warning) {
	info := n.ask(ctx).info
	if info == nil {
		return nil, []Warning{unseenDatabases(n.Addr, "the databases except 0", "+info and +select", n.answer.err)}
	}
	var all []Client
	var unseen []string
	var why error
	for _, db := range databases(info) {
		one := n.Client.EphemeralConn()
		on := conn.Of(one)
		_, err := on.Do(ctx, false, "SELECT", db)
		if err == nil {
			var clients []Client
			clients, err = records{on}.clients(ctx, since)
			all = append(all, clients...)
		}
		go one.Close()
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

// databases returns the numbers of the databases with keys, except 0.
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

// causeOf returns the server's reply, or the text of another error.
func causeOf(err error) string {
	var reply redis.Error
	if errors.As(err, &reply) {
		return reply.Error()
	}
	return oneLine(err.Error())
}
