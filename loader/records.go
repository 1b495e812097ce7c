package loader

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/mod/semver"

	"github.com/rlfunc/rlfunc/fcall"
)

// The keys that deploys use on a target, all in database 0. They begin with "rlfunc:{deploy", so one pattern of an access list
// covers them. They do not expire: [keptReleases], [keptEvents] and [maxEvent] bound them, and they do not grow with calls.
const (
	keyReleases = "rlfunc:{deploy}:releases" // hash: digest -> Release as JSON
	keyCode     = "rlfunc:{deploy}:code"     // hash: digest -> source text
	keyHistory  = "rlfunc:{deploy}:history"  // list of Event as JSON, the newest last
	keyCurrent  = "rlfunc:{deploy}:current"  // hash: server name -> decision as JSON, and "<server name> ended" -> ID
	keyPattern  = "rlfunc:{deploy*"
)

// keptReleases is the number of releases of a server name that are kept with their source.
const keptReleases = 10

// A Release is a library that an operation loaded, tried to load or found on the target. Its source is stored beside it as text, because dumps
// depend on the server's version.
type Release struct {
	Library string `json:"library"` // the server name, "ratelimit_v1"
	Name    string `json:"name"`    // "ratelimit"
	Version string `json:"version"`
	Digest  string `json:"digest"` // SHA-256 of the source
	// At and By say when, and by whom, an operation that loads it last began. If By is empty, another tool had loaded it when an operation found it.
	At time.Time `json:"at"`
	By string    `json:"by,omitempty"`
	// Replaced is the ID of the release that a deploy of this one replaced: the destination of a rollback.
	Replaced string `json:"replaced,omitempty"`
}

// ID identifies a release by its version and the beginning of its digest, "1.1.0@4f1c2d3a9b0e". Code that changed without a new
// version makes two releases of one version.
func (r Release) ID() string { return r.Version + "@" + r.Digest[:min(len(r.Digest), 12)] }

// versionOf returns the version in a release's ID.
func versionOf(id string) string {
	version, _, _ := strings.Cut(id, "@")
	return version
}

func releaseOf(lib *fcall.Library) Release {
	return Release{Library: lib.ServerName, Name: lib.Name, Version: lib.Version, Digest: lib.Digest()}
}

func newestFirst(a, b Release) int {
	return cmp.Or(strings.Compare(a.Library, b.Library), b.At.Compare(a.At), semver.Compare("v"+b.Version, "v"+a.Version), strings.Compare(a.Digest, b.Digest))
}

// records are what deploys store on their target, in database 0. The keys share a hash slot, and cluster knows whose it is.
type records struct {
	server  *redis.Client
	cluster *redis.ClusterClient // or nil
}

// on runs f with the server that has the records. Through the cluster's client each command would first ask for COMMAND, which few users may.
func (rec records) on(ctx context.Context, f func(server *redis.Client) error) error {
	for try := 0; ; try++ {
		server, err := rec.server, error(nil)
		if rec.cluster != nil {
			server, err = rec.cluster.MasterForKey(ctx, keyHistory)
		}
		if errors.Is(err, redis.Nil) {
			return &Error{
				Op: "find the records", Reason: ErrUnsupported, // without the cause, which stands for no record elsewhere
				Text: "the nodes of the cluster do not say at which address clients reach them (CLUSTER SLOTS has no host); set cluster-preferred-endpoint-type ip, or cluster-announce-hostname on each of them",
			}
		}
		if err == nil {
			err = f(server)
		}
		if err == nil || errors.Is(err, redis.Nil) {
			return err
		}
		if !elsewhere(err) || rec.cluster == nil || try == 50 { // the slot of the records may move for 5 s
			return recordError(err)
		}
		rec.cluster.ReloadState(ctx)
		select {
		case <-ctx.Done():
			return recordError(ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// do runs one command. The reply is nil if there is none.
func (rec records) do(ctx context.Context, args ...any) (reply any, err error) {
	err = rec.on(ctx, func(server *redis.Client) (err error) {
		reply, err = server.Do(ctx, args...).Result()
		return err
	})
	if errors.Is(err, redis.Nil) {
		err = nil
	}
	return reply, err
}

// Releases lists the recorded releases, by library, the newest first. It is empty before the first deploy and after FLUSHALL.
func (t *Target) Releases(ctx context.Context) ([]Release, error) {
	s, err := t.open(ctx, false)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return s.records.releases(ctx)
}

// write runs commands that write. Each is idempotent: events of one ID count once.
func (rec records) write(ctx context.Context, commands ...[]any) error {
	for _, command := range commands {
		if _, err := rec.do(ctx, command...); err != nil {
			return err
		}
	}
	return nil
}

// now returns the server's time, which all writers and readers share.
func (rec records) now(ctx context.Context) (at time.Time, err error) {
	err = rec.on(ctx, func(server *redis.Client) error {
		at, err = server.Time(ctx).Result()
		return err
	})
	return at.UTC().Truncate(time.Millisecond), err
}

// foreign returns the error of a record that rlfunc did not write.
func foreign(key string, cause error) *Error {
	return &Error{Op: "keep the records", Reason: ErrRejected, Cause: cause, Text: key + " holds something that rlfunc did not write; remove it"}
}

// A decision is what the last operation on a library wants on every primary.
type decision struct {
	ID      string    `json:"id"` // of the operation, as in the history
	Op      Op        `json:"op"`
	Version string    `json:"version,omitempty"`
	Digest  string    `json:"digest,omitempty"` // none: no library
	By      string    `json:"by"`
	At      time.Time `json:"at"`
	// Replaced is the ID of the highest release that it replaces.
	Replaced string `json:"replaced,omitempty"`
	ended    bool
}

// String describes the operation: "the deploy of 1.2.0 by anna, which began at 2026-11-29 12:00:00 UTC".
func (d decision) String() string {
	what := string(d.Op)
	switch {
	case d.Op == OpRollback:
		what += " to " + d.Version
	case d.Version != "":
		what += " of " + d.Version
	}
	return fmt.Sprintf("the %s by %s, which began at %s", what, d.By, clockTime(d.At))
}

// current returns the last decision on each library.
func (rec records) current(ctx context.Context) (map[string]decision, error) {
	reply, err := rec.do(ctx, "HGETALL", keyCurrent)
	if err != nil {
		return nil, err
	}
	fields, all := fieldMap(reply), map[string]decision{}
	for library, value := range fields {
		text, _ := value.(string)
		if strings.HasSuffix(library, endedField) {
			continue
		}
		var d decision
		if err := json.Unmarshal([]byte(text), &d); err != nil || d.ID == "" {
			return nil, foreign("field "+library+" of "+keyCurrent, err)
		}
		d.ended = fields[library+endedField] == d.ID
		all[library] = d
	}
	return all, nil
}

const endedField = " ended"

// releases lists the releases by library, the newest first.
func (rec records) releases(ctx context.Context) ([]Release, error) {
	reply, err := rec.do(ctx, "HGETALL", keyReleases)
	if err != nil {
		return nil, err
	}
	all := []Release{}
	for field, value := range fieldMap(reply) {
		var r Release
		text, _ := value.(string)
		if err := json.Unmarshal([]byte(text), &r); err != nil || r.Library == "" || r.Digest == "" {
			return nil, foreign("field "+field+" of "+keyReleases, err)
		}
		all = append(all, r)
	}
	slices.SortFunc(all, newestFirst)
	return all, nil
}

// remember adds to a plan what the records say: the last operation on each library, whether that has not ended, and whether it was a rollback
// from the release that a deploy loads. A user who may not read the records gets a plan all the same.
func (rec records) remember(ctx context.Context, p *Plan) {
	current, err := rec.current(ctx)
	if errors.Is(err, ErrUnsupported) { // a node that is down has its own row
		p.Warnings = append(p.Warnings, warning("records_unread", oneLine(err.Error()), ""))
	}
	for i := range p.Libraries {
		lib := &p.Libraries[i]
		d := current[lib.ServerName]
		if lib.After = d.ID; err != nil {
			lib.After = unread
		}
		if d.ID != "" && !d.ended {
			p.Warnings = append(p.Warnings, warning("unfinished", lib.ServerName+": "+d.String()+", has not ended", "wait for it, or deploy to take its place"))
		}
		if d.Op == OpRollback && p.Op == OpDeploy && p.Changes() && d.Replaced == releaseOf(p.libs[i]).ID() {
			p.Warnings = append(p.Warnings, warning("rolled_back",
				fmt.Sprintf("%s %s was rolled back to %s on %s by %s; a deploy loads it again", lib.ServerName, lib.Version, d.Version, clockTime(d.At), d.By), ""))
		}
	}
}

// unread stands for the last operation in the plan of a user who may not read the records.
const unread = "unread"

func clockTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
