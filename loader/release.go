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
	"github.com/rlfunc/rlfunc/loader/internal/resp"
)

// keptReleases is how many releases of a server name are remembered with their source.
const keptReleases = 10

// A Release is a library as a deploy put it on the target, or found it there. Its source is kept beside it, as text: dumps depend on the
// server's version.
type Release struct {
	Library string `json:"library"` // the server name, "ratelimit_v1"
	Name    string `json:"name"`    // "ratelimit"
	Version string `json:"version"`
	Digest  string `json:"digest"` // SHA-256 of the source
	// Recorded is when it was first written down, Deployed when it was last put on a node, and by whom. A release that was only found,
	// because something else had loaded it, has no Deployed.
	Recorded time.Time `json:"recorded"`
	Deployed time.Time `json:"deployed,omitzero"`
	By       string    `json:"by,omitempty"`
	// Replaced is the release that a deploy of this one took the place of: where a rollback goes.
	Replaced string `json:"replaced,omitempty"` // its ID
	// RolledBack tells that it was taken back, until it is deployed again.
	RolledBack *RolledBack `json:"rolled_back,omitempty"`
}

// RolledBack says when a release was taken back, and by whom.
type RolledBack struct {
	At time.Time `json:"at"`
	By string    `json:"by"`
	To string    `json:"to"` // the version that came in its place
}

// ID names a release: its version and how its digest begins, "1.1.0@4f1c2d3a9b0e". Two releases of one version are possible where somebody
// changed code without giving it a version.
func (r Release) ID() string { return releaseID(r.Version, r.Digest) }

func releaseID(version, digest string) string { return version + "@" + digest[:min(len(digest), 12)] }

// latest is when a release last meant something.
func (r Release) latest() time.Time {
	if r.Deployed.After(r.Recorded) {
		return r.Deployed
	}
	return r.Recorded
}

func newestFirst(a, b Release) int {
	return cmp.Or(b.latest().Compare(a.latest()), semver.Compare("v"+b.Version, "v"+a.Version), strings.Compare(a.Digest, b.Digest))
}

// book is what deploys write down on their target, in database 0. Its keys share a hash slot, and go where the client sends them.
type book struct{ caller fcall.Caller }

// records opens the book of the target; the caller closes it.
func (t *Target) records(ctx context.Context) (book, func(), error) {
	s, err := t.open(ctx, false)
	if err != nil {
		return book{}, nil, err
	}
	return s.book, s.close, nil
}

// Releases lists what was recorded, by library and then the newest first. It is empty if nothing was deployed, and after a FLUSHALL.
func (t *Target) Releases(ctx context.Context) ([]Release, error) {
	b, done, err := t.records(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	all, err := b.releases(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b Release) int {
		return cmp.Or(strings.Compare(a.Library, b.Library), newestFirst(a, b))
	})
	return all, nil
}

// node is whatever node the client sends a command to.
func (b book) node() *node { return &node{caller: b.caller} }

func (b book) read(ctx context.Context, args ...any) (any, error) {
	reply, err := b.node().do(ctx, false, args...)
	// A Sentinel ends its servers' connections when it fails over, which go-redis does not notice before it uses one over TLS.
	for more := 3; more > 0 && errors.Is(err, io.EOF); more-- {
		reply, err = b.node().do(ctx, false, args...)
	}
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, judgeState("read the records", "", err)
	}
	return reply, err
}

// write may be sent again by the client, and follows a slot that moves: to write any of this twice is the same as once, as events of
// one ID are one.
func (b book) write(ctx context.Context, args ...any) error {
	if _, err := b.node().do(ctx, false, args...); err != nil {
		return judgeState("write the records", "", err)
	}
	return nil
}

// now is the server's time, so that all who write and read mean the same.
func (b book) now(ctx context.Context) (time.Time, error) {
	reply, err := b.read(ctx, "TIME")
	if err != nil {
		return time.Time{}, err
	}
	return readTime(reply)
}

func (b book) releases(ctx context.Context) ([]Release, error) {
	reply, err := b.read(ctx, "HGETALL", keyReleases)
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

// code reads a release's source, and checks that it is what was recorded.
func (b book) code(ctx context.Context, r Release) (string, error) {
	reply, err := b.read(ctx, "HGET", keyCode, r.Digest)
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

// keep writes releases down. code may be empty where the source is there already. The source goes first: a release without it would be no use.
func (b book) keep(ctx context.Context, r Release, code string) error {
	if code != "" {
		if err := b.write(ctx, "HSET", keyCode, r.Digest, code); err != nil {
			return err
		}
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return b.write(ctx, "HSET", keyReleases, r.Library+"@"+r.ID(), string(text))
}

// trim forgets all but the newest releases of a library, but none of held, and nothing that one of held leads back to in a step.
func (b book) trim(ctx context.Context, library string, keep int, held []string) error {
	all, err := b.releases(ctx)
	if err != nil {
		return err
	}
	needed := map[string]bool{}
	for _, r := range all {
		if r.Library == library && slices.Contains(held, r.Digest) {
			needed[r.ID()], needed[r.Replaced] = true, true
		}
	}
	var own []Release
	for _, r := range all {
		if r.Library == library {
			own = append(own, r)
		}
	}
	slices.SortFunc(own, newestFirst)
	for _, r := range own[min(len(own), keep):] {
		if needed[r.ID()] {
			continue
		}
		if err := b.write(ctx, "HDEL", keyReleases, r.Library+"@"+r.ID()); err != nil {
			return err
		}
		if err := b.write(ctx, "HDEL", keyCode, r.Digest); err != nil {
			return err
		}
	}
	return nil
}
