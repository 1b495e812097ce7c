package loader

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/mod/semver"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/loader/internal/conn"
	"github.com/rlfunc/rlfunc/loader/internal/resp"
)

// The keys that deploys use on a target, all in database 0. They begin with "rlfunc:{deploy", so one pattern of an access list
// covers them. Records do not expire: [keptReleases], [keptEvents] and [maxEvent] bound them, and they do not grow with calls.
const (
	keyReleases = "rlfunc:{deploy}:releases" // hash: <server name>@<version>@<12 digits of the digest> -> Release as JSON
	keyCode     = "rlfunc:{deploy}:code"     // hash: digest -> source text
	keyHistory  = "rlfunc:{deploy}:history"  // list of Event as JSON, the newest last
	keyClients  = "rlfunc:{deploy}:clients"  // sorted set: announcements, see [announced], by server time in ms; expires
	keyLease    = "rlfunc:{deploy}:lease"    // string: the deployer that changes the target; expires
	keyLock     = "rlfunc:{deploy}:lock"     // string: the deployer that changes a node outside a cluster; expires
	keyPattern  = "rlfunc:{deploy*"
)

// keptReleases is the number of releases of a server name that are kept with their source.
const keptReleases = 10

// A Release is a library that a deploy loaded or found on the target. Its source is stored beside it as text, because dumps
// depend on the server's version.
type Release struct {
	Library string `json:"library"` // the server name, "ratelimit_v1"
	Name    string `json:"name"`    // "ratelimit"
	Version string `json:"version"`
	Digest  string `json:"digest"` // SHA-256 of the source
	// Recorded is when the release was first recorded. Deployed is when a deploy last loaded it, and By who ran that. Deployed
	// is zero for a release that another tool loaded.
	Recorded time.Time `json:"recorded"`
	Deployed time.Time `json:"deployed,omitzero"`
	By       string    `json:"by,omitempty"`
	// Replaced is the ID of the release that a deploy of this one replaced: the destination of a rollback.
	Replaced string `json:"replaced,omitempty"`
	// RolledBack is set by a rollback from this release until the next deploy of it.
	RolledBack *RolledBack `json:"rolled_back,omitempty"`
}

// RolledBack is a rollback from a release.
type RolledBack struct {
	At time.Time `json:"at"`
	By string    `json:"by"`
	To string    `json:"to"` // the version that replaced it
}

// ID identifies a release by its version and the beginning of its digest, "1.1.0@4f1c2d3a9b0e". Code that changed without a new
// version makes two releases of one version.
func (r Release) ID() string { return r.Version + "@" + r.Digest[:min(len(r.Digest), 12)] }

// versionOf returns the version in a release's ID.
func versionOf(id string) string {
	version, _, _ := strings.Cut(id, "@")
	return version
}

// field is the release's field of keyReleases.
func (r Release) field() string { return r.Library + "@" + r.ID() }

func releaseOf(lib *fcall.Library) Release {
	return Release{Library: lib.ServerName, Name: lib.Name, Version: lib.Version, Digest: lib.Digest()}
}

// latest returns when a release was last recorded or deployed.
func (r Release) latest() time.Time {
	if r.Deployed.After(r.Recorded) {
		return r.Deployed
	}
	return r.Recorded
}

func newestFirst(a, b Release) int {
	return cmp.Or(b.latest().Compare(a.latest()), semver.Compare("v"+b.Version, "v"+a.Version), strings.Compare(a.Digest, b.Digest))
}

// records are what deploys store on their target, in database 0, over connections other than the pinned one of a deploy. The keys share a hash slot; the client routes commands to it.
type records struct{ server *conn.Conn }

// Releases lists the recorded releases, by library, the newest first. It is empty before the first deploy and after FLUSHALL.
func (t *Target) Releases(ctx context.Context) ([]Release, error) {
	s, err := t.open(ctx, false)
	if err != nil {
		return nil, err
	}
	defer s.close()
	all, err := s.records.releases(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b Release) int {
		return cmp.Or(strings.Compare(a.Library, b.Library), newestFirst(a, b))
	})
	return all, nil
}

func (rec records) read(ctx context.Context, args ...any) (any, error) {
	reply, err := rec.server.Do(ctx, false, args...)
	// A failover by Sentinel closes connections, which go-redis detects over TLS only when it uses one.
	for more := 3; more > 0 && errors.Is(err, io.EOF); more-- {
		reply, err = rec.server.Do(ctx, false, args...)
	}
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, classifyRecordError("read the records", "", err)
	}
	return reply, err
}

// write may be repeated by the client, and follows a migrating slot. All writes of records are idempotent: events of one ID
// count once.
func (rec records) write(ctx context.Context, args ...any) error {
	if _, err := rec.server.Do(ctx, false, args...); err != nil {
		return classifyRecordError("write the records", "", err)
	}
	return nil
}

// now returns the server's time, which all writers and readers share.
func (rec records) now(ctx context.Context) (time.Time, error) {
	reply, err := rec.read(ctx, "TIME")
	if err != nil {
		return time.Time{}, err
	}
	at, err := resp.Time(reply)
	return at.Truncate(time.Millisecond), err
}

func (rec records) releases(ctx context.Context) ([]Release, error) {
	reply, err := rec.read(ctx, "HGETALL", keyReleases)
	if err != nil {
		return nil, err
	}
	all := []Release{}
	for field, value := range resp.Map(reply) {
		var r Release
		text, _ := value.(string)
		if err := json.Unmarshal([]byte(text), &r); err != nil || r.Library == "" || r.Digest == "" {
			return nil, &Error{Op: "read the records", Reason: ErrRejected, Cause: err, Text: "field " + field + " of " + keyReleases + " is not one that rlfunc wrote; remove it"}
		}
		all = append(all, r)
	}
	return all, nil
}

// known returns the releases by hash field.
func (rec records) known(ctx context.Context) (map[string]Release, error) {
	all, err := rec.releases(ctx)
	if err != nil {
		return nil, err
	}
	known := make(map[string]Release, len(all))
	for _, r := range all {
		known[r.field()] = r
	}
	return known, nil
}

// code returns a release's source after checking its digest.
func (rec records) code(ctx context.Context, r Release) (string, error) {
	reply, err := rec.read(ctx, "HGET", keyCode, r.Digest)
	text, _ := reply.(string)
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", err
	}
	if digestOf(text) != r.Digest {
		return "", &Error{
			Op: "rollback", Library: r.Library, Reason: ErrNoRecord,
			Text: "release " + r.Version + " is recorded, but its source is lost; get it from a checkout: rlfunc rollback " + r.Library + " --from DIR",
		}
	}
	return text, nil
}

// keep stores a release. code may be empty if the source is stored already. The source is stored first, because a release
// without it is useless.
func (rec records) keep(ctx context.Context, r Release, code string) error {
	if code != "" {
		if err := rec.write(ctx, "HSET", keyCode, r.Digest, code); err != nil {
			return err
		}
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return rec.write(ctx, "HSET", keyReleases, r.field(), string(text))
}

// trim deletes all but the newest releases of a library. It keeps the releases whose digests are in held, and those that they
// replaced.
func (rec records) trim(ctx context.Context, known map[string]Release, library string, keep int, held []string) error {
	needed := map[string]bool{}
	var own []Release
	for _, r := range known {
		if r.Library != library {
			continue
		}
		own = append(own, r)
		if slices.Contains(held, r.Digest) {
			needed[r.ID()], needed[r.Replaced] = true, true
		}
	}
	slices.SortFunc(own, newestFirst)
	for _, r := range own[min(len(own), keep):] {
		if needed[r.ID()] {
			continue
		}
		if err := rec.write(ctx, "HDEL", keyReleases, r.field()); err != nil {
			return err
		}
		if err := rec.write(ctx, "HDEL", keyCode, r.Digest); err != nil {
			return err
		}
	}
	return nil
}
