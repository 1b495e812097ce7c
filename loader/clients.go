package loader

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

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
	return s.records.clients(ctx, now.Add(-seenFor))
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
