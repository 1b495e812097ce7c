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
	"github.com/rlfunc/rlfunc/loader/internal/conn"
	"github.com/rlfunc/rlfunc/loader/internal/resp"
)

const (
	announceEvery = time.Minute
	// inUse is how long after its last announcement a client counts as in use: many intervals.
	inUse = 15 * time.Minute
	// seenFor is how long an announcement is kept.
	seenFor = 24 * time.Hour
)

// AnnounceOptions configure an Announce. The zero value is useful.
type AnnounceOptions struct {
	// Instance identifies the process, for example a pod. Defaults to the host's name and the process ID.
	Instance string
	// OnError is called when an announcement fails; the next try is a minute later. Defaults to nothing.
	OnError func(error)
}

// Announce records each minute that this process uses the library, until ctx ends; then it deletes the record. A retire refuses
// to remove a library with announcements of the last 15 minutes, and status lists those of a day:
//
//	go loader.Announce(ctx, rdb, ratelimit.Library, loader.AnnounceOptions{})
//
// Announcements are in database 0; Announce opens its own connection if the client uses another database. A client of a channel
// announces that channel's library ([fcall.Library.Channel]). The user needs ~rlfunc:{deploy}:clients +time +zadd +zrem
// +zremrangebyscore +expire, which `rlfunc acl service --announce` adds.
func Announce(ctx context.Context, client fcall.Caller, lib *fcall.Library, o AnnounceOptions) {
	if o.Instance == "" {
		host, _ := os.Hostname()
		o.Instance = cmp.Or(host, "unknown") + ":" + strconv.Itoa(os.Getpid())
	}
	zero, own := conn.InDatabase0(client)
	if own != nil {
		defer own.Close()
	}
	rec := records{conn.Of(zero)}
	member := lib.ServerName + "@" + lib.Version + " " + strings.Join(strings.Fields(o.Instance), "_")
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = rec.write(ctx, "ZREM", keyClients, member) // it expires after a day anyway
	}()
	tick := time.NewTicker(announceEvery)
	defer tick.Stop()
	for {
		if err := rec.sign(ctx, member); err != nil && ctx.Err() == nil && o.OnError != nil {
			o.OnError(fmt.Errorf("announce %s: %w", lib.ServerName, err))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (rec records) sign(ctx context.Context, member string) error {
	now, err := rec.now(ctx)
	if err != nil {
		return err
	}
	if err := rec.write(ctx, "ZADD", keyClients, now.UnixMilli(), member); err != nil {
		return err
	}
	if err := rec.write(ctx, "ZREMRANGEBYSCORE", keyClients, "-inf", now.Add(-seenFor).UnixMilli()); err != nil {
		return err
	}
	return rec.write(ctx, "EXPIRE", keyClients, int(seenFor.Seconds()))
}

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
