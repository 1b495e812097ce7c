package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
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
	// keptClients is how many announcements are kept, the newest: about 10 MB.
	keptClients   = 50_000
	clientsOfPage = 1000
)

// AnnounceOptions configure an Announce. The zero value is useful.
type AnnounceOptions struct {
	// Service names the service: 1 to 64 of the characters A-Z a-z 0-9 _ - . With another name, OnError is called and nothing is announced.
	// Defaults to the program's name, in which other characters become _.
	Service string
	// Instance identifies the process, for example a pod, in at most 128 bytes. Defaults to the host's name and the process ID.
	Instance string
	// OnError is called when an announcement fails; the next try is a minute later. Defaults to a warning of slog's default logger at the first
	// failure, and at the first after a success.
	OnError func(error)
}

// Announce records each minute that this process uses the library, until ctx ends; then it deletes the record. A retire refuses
// to remove a library with announcements of the last 15 minutes, and status lists those of a day:
//
//	go loader.Announce(ctx, rdb, ratelimit.Library, loader.AnnounceOptions{})
//
// Announcements are in database 0; Announce opens its own connection if the client uses another database. A client of a channel
// announces that channel's library ([fcall.Library.Channel]). The user needs ~rlfunc:{deploy}:clients +time +zadd +zrem
// +zremrangebyscore +zremrangebyrank +expire, which `rlfunc acl service --announce` adds. docs/reference/wire.md has the form of the record.
func Announce(ctx context.Context, client fcall.Caller, lib *fcall.Library, o AnnounceOptions) {
	if o.Instance == "" {
		host, _ := os.Hostname()
		o.Instance = cmp.Or(host, "unknown") + ":" + strconv.Itoa(os.Getpid())
	}
	failing := false
	if o.OnError == nil {
		o.OnError = func(err error) {
			if !failing {
				slog.Warn("rlfunc plan, deploy and retire do not see this process", "error", err)
			}
		}
	}
	if o.Service == "" {
		o.Service = fold(strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe"), 64, notOfService)
	} else if fcall.CheckNamespace(o.Service) != nil {
		o.OnError(fmt.Errorf("announce %s: Service must be 1 to 64 of the characters A-Z a-z 0-9 _ - . , got %q", lib.ServerName, shorten(o.Service, 34)))
		return
	}
	o.Instance = fold(o.Instance, 128, notOfInstance)
	zero, own := conn.InDatabase0(client)
	if own != nil {
		defer own.Close()
	}
	a := announcement{records: records{conn.Of(zero)}, lib: lib, o: o}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		a.withdraw(ctx)
	}()
	tick := time.NewTicker(announceEvery)
	defer tick.Stop()
	for {
		err := a.renew(ctx)
		if err != nil && ctx.Err() == nil {
			o.OnError(a.failed(err))
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

var notOfService, notOfInstance = regexp.MustCompile(`[^A-Za-z0-9_.-]`), regexp.MustCompile(`[^!-~]`)

// fold cuts a name, and replaces what cannot be in a record.
func fold(name string, most int, illegal *regexp.Regexp) string {
	name = illegal.ReplaceAllString(name, "_")
	return name[:min(len(name), most)]
}

// An announcement is the record of one process and library.
type announcement struct {
	records records
	lib     *fcall.Library
	o       AnnounceOptions
	member  string // "" before the server has told the time
}

func (a *announcement) renew(ctx context.Context) error {
	now, err := a.records.now(ctx)
	if err != nil {
		return err
	}
	if a.member == "" {
		a.member = fmt.Sprintf("%s@%s %s go %d %s", a.lib.ServerName, a.lib.Version, a.o.Service, now.UnixMilli(), a.o.Instance)
	}
	for _, command := range [][]any{
		{"ZADD", keyClients, now.UnixMilli(), a.member},
		{"ZREMRANGEBYSCORE", keyClients, "-inf", now.Add(-seenFor).UnixMilli()},
		{"ZREMRANGEBYRANK", keyClients, 0, -keptClients - 1},
		{"EXPIRE", keyClients, int(seenFor.Seconds())},
	} {
		if err := a.records.write(ctx, command...); err != nil {
			return err
		}
	}
	return nil
}

func (a *announcement) failed(err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return fmt.Errorf("announce %s: %w", a.lib.ServerName, err)
	}
	e = e.at("announce", a.lib.ServerName)
	if reply, _, ok := strings.Cut(e.Text, ";"); ok && strings.HasPrefix(reply, "NOPERM") {
		e.Text = reply + "; the rule of `rlfunc acl service --announce` permits it"
	}
	return e
}

func (a *announcement) withdraw(ctx context.Context) {
	if a.member != "" {
		_ = a.records.write(ctx, "ZREM", keyClients, a.member) // it expires after a day anyway
	}
}

// A Client is a process that announced that it uses a library.
type Client struct {
	Library  string    `json:"library"` // "ratelimit_v1"
	Version  string    `json:"version"` // of the source that the client was generated from
	Service  string    `json:"service"`
	Language string    `json:"language"` // "go", "python" or "typescript"
	Instance string    `json:"instance"`
	Since    time.Time `json:"since"` // the first announcement
	Seen     time.Time `json:"seen"`  // the last announcement; both by the server's clock
}

// String names the client: "checkout on pod-a:7 (python, 1.0.0)".
func (c Client) String() string {
	return fmt.Sprintf("%s on %s (%s, %s)", c.Service, shorten(c.Instance, 60), c.Language, c.Version)
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

// clients reads page by page, so that no call waits long behind it. An announcement that is renewed meanwhile moves to a later page.
func (rec records) clients(ctx context.Context, since time.Time) ([]Client, error) {
	found := map[string]Client{}
	for from, skip, full := since.UnixMilli(), 0, true; full; {
		reply, err := rec.read(ctx, "ZRANGEBYSCORE", keyClients, from, "+inf", "WITHSCORES", "LIMIT", skip, clientsOfPage)
		if err != nil {
			return nil, err
		}
		rows, last := resp.Pairs(reply), from
		for _, row := range rows {
			member, _ := row[0].(string)
			part := announced.FindStringSubmatch(member)
			seen, ok := resp.Int(row[1])
			if part == nil || !ok {
				return nil, resp.FormatError(fmt.Sprintf("%s has %q, which this version of rlfunc did not write; remove it with ZREM", keyClients, shorten(member, 200)))
			}
			began, _ := strconv.ParseInt(part[5], 10, 64)
			found[member] = Client{
				Library: part[1], Version: part[2], Service: part[3], Language: part[4], Instance: part[6],
				Since: time.UnixMilli(began).UTC(), Seen: time.UnixMilli(seen).UTC(),
			}
			last = seen
		}
		full = len(rows) == clientsOfPage
		if last == from {
			skip += len(rows)
		} else {
			from, skip = last, 0
		}
	}
	all := slices.AppendSeq([]Client{}, maps.Values(found)) // not nil, which JSON would show as null
	slices.SortFunc(all, func(a, b Client) int {
		return cmp.Or(strings.Compare(a.Library, b.Library), strings.Compare(a.Version, b.Version), strings.Compare(a.Service, b.Service),
			strings.Compare(a.Language, b.Language), strings.Compare(a.Instance, b.Instance), a.Since.Compare(b.Since))
	})
	return all, nil
}

// announced matches a record, all of it text that is safe to print: library@version service language since instance.
var announced = regexp.MustCompile(`^([A-Za-z0-9_]+)@([0-9A-Za-z.+-]+) ([A-Za-z0-9_.-]{1,64}) ([a-z]+) ([0-9]{1,15}) ([!-~]{1,128})$`)
