package loader

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
)

const (
	announceEvery = time.Minute
	// inUse is how long after its last sign a client counts as one: many missed ones.
	inUse = 15 * time.Minute
	// seenFor is how long a sign is kept.
	seenFor = 24 * time.Hour
)

// AnnounceOptions of an Announce.
type AnnounceOptions struct {
	// Instance names the process: a pod. Defaults to the host's name and the number of the process.
	Instance string
	// OnError is told each time a sign could not be given; the next try is a minute later. Defaults to nothing.
	OnError func(error)
}

// A Client is a process that gave a sign of using a library.
type Client struct {
	Library  string    `json:"library"` // "ratelimit_v1"
	Version  string    `json:"version"` // that it was generated from
	Instance string    `json:"instance"`
	Seen     time.Time `json:"seen"` // by the server's clock
}

// Announce tells the server each minute that this process uses the library, until ctx ends; then it takes that back. A retire refuses while
// signs are younger than 15 minutes, and status lists those of a day. It is for services that want that:
//
//	go loader.Announce(ctx, rdb, ratelimit.Library, loader.AnnounceOptions{})
//
// The sign is in database 0, over a connection of its own where the client uses another database.
// A client of a channel announces the library of that channel ([fcall.Library.Channel]). A sign is one member of a sorted set, removed after a day. The user needs ~rlfunc:{deploy}:clients +time +zadd +zrem
// +zremrangebyscore +expire, which `rlfunc acl service --announce` adds.
func Announce(ctx context.Context, client fcall.Caller, lib *fcall.Library, o AnnounceOptions) {
	if o.Instance == "" {
		host, _ := os.Hostname()
		o.Instance = cmp.Or(host, "unknown") + ":" + strconv.Itoa(os.Getpid())
	}
	zero, own := inDatabase0(client)
	if own != nil {
		defer own.Close()
	}
	b := book{zero}
	member := lib.ServerName + "@" + lib.Version + " " + strings.Join(strings.Fields(o.Instance), "_")
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = b.write(ctx, "ZREM", keyClients, member) // it is forgotten after a day anyway
	}()
	tick := time.NewTicker(announceEvery)
	defer tick.Stop()
	for {
		if err := b.sign(ctx, member); err != nil && ctx.Err() == nil && o.OnError != nil {
			o.OnError(fmt.Errorf("announce %s: %w", lib.ServerName, err))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (b book) sign(ctx context.Context, member string) error {
	now, err := b.now(ctx)
	if err != nil {
		return err
	}
	if err := b.write(ctx, "ZADD", keyClients, now.UnixMilli(), member); err != nil {
		return err
	}
	if err := b.write(ctx, "ZREMRANGEBYSCORE", keyClients, "-inf", now.Add(-seenFor).UnixMilli()); err != nil {
		return err
	}
	return b.write(ctx, "EXPIRE", keyClients, int(seenFor.Seconds()))
}

// Clients lists the processes that gave a sign within the last day, by library, version and instance. Processes that do not announce
// themselves are not among them.
func (t *Target) Clients(ctx context.Context) ([]Client, error) {
	s, err := t.open(ctx, false)
	if err != nil {
		return nil, err
	}
	defer s.close()
	now, err := s.book.now(ctx)
	if err != nil {
		return nil, err
	}
	clients, _, err := s.clients(ctx, now.Add(-seenFor))
	return clients, err
}

func (b book) clients(ctx context.Context, since time.Time) ([]Client, error) {
	reply, err := b.read(ctx, "ZRANGEBYSCORE", keyClients, since.UnixMilli(), "+inf", "WITHSCORES")
	if err != nil {
		return nil, err
	}
	clients := []Client{}
	for _, row := range pairs(reply) {
		member, _ := row[0].(string)
		who, instance, _ := strings.Cut(member, " ")
		library, version, _ := strings.Cut(who, "@")
		millis, ok := number(row[1])
		if !ok || library == "" {
			return nil, listError(keyClients + " holds something that rlfunc did not write; remove it")
		}
		clients = append(clients, Client{Library: library, Version: version, Instance: instance, Seen: time.UnixMilli(millis).UTC()})
	}
	slices.SortFunc(clients, compareClients)
	return clients, nil
}

func compareClients(a, b Client) int {
	return cmp.Or(strings.Compare(a.Library, b.Library), strings.Compare(a.Version, b.Version), strings.Compare(a.Instance, b.Instance))
}

// pairs reads members with scores: pairs in RESP3, a flat list in RESP2.
func pairs(reply any) [][2]any {
	items, _ := reply.([]any)
	var rows [][2]any
	for i := 0; i < len(items); i++ {
		if pair, ok := items[i].([]any); ok && len(pair) == 2 {
			rows = append(rows, [2]any{pair[0], pair[1]})
		} else if i+1 < len(items) {
			rows = append(rows, [2]any{items[i], items[i+1]})
			i++
		}
	}
	return rows
}
