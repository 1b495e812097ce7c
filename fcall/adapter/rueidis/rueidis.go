// Package rueidis runs the calls of generated clients and guard over github.com/redis/rueidis.
package rueidis

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/rlfunc/rlfunc/fcall/adapter"
)

// A Client is a Caller for generated clients and guard.
type Client struct {
	*adapter.Client
	// Rueidis is the client underneath, for the service's own commands. Closing it ends the Client.
	Rueidis rueidis.Client
}

// maxRedirects is how often a call follows MOVED and ASK, unless the options say otherwise. It has no deadline to end a loop.
const maxRedirects = 3

// New connects to one server, a cluster or Sentinel, as [rueidis.NewClient] does. It returns an error for options with which
// rueidis could send a call twice or to a replica: DisableRetry must be true, and ConnLifetime, SendToReplicas, ReplicaOnly and
// Standalone must be zero. With ForceSingleClient it needs no answer: the Client connects when the server is there.
func New(o rueidis.ClientOption) (*Client, error) {
	switch {
	case !o.DisableRetry:
		return nil, errors.New("new rueidis adapter: DisableRetry must be true: a call that may have run must not be sent again")
	case o.ConnLifetime != 0:
		return nil, errors.New("new rueidis adapter: ConnLifetime must be 0: rueidis sends the calls of an expired connection again")
	case o.SendToReplicas != nil, o.ReplicaOnly, len(o.Standalone.ReplicaAddress) > 0, o.Standalone.EnableRedirect:
		return nil, errors.New("new rueidis adapter: SendToReplicas, ReplicaOnly and Standalone must be zero: calls need the primary")
	case len(o.InitAddress) == 0:
		return nil, fmt.Errorf("new rueidis adapter: %w", rueidis.ErrNoAddr)
	}
	if o.ClusterOption.MaxMovedRedirections == 0 {
		o.ClusterOption.MaxMovedRedirections = maxRedirects
	}
	client, err := rueidis.NewClient(o)
	if err != nil && (client == nil || !o.ForceSingleClient) {
		return nil, fmt.Errorf("new rueidis adapter: %w", err)
	}
	c, err := adapter.New(sender{client}, client.Mode() == rueidis.ClientModeCluster)
	if err != nil {
		client.Close()
		return nil, err
	}
	return &Client{c, client}, nil
}

type sender struct{ client rueidis.Client }

func (s sender) Send(ctx context.Context, commands []adapter.Command) []adapter.Reply {
	if len(commands) == 1 {
		return []adapter.Reply{reply(s.client.Do(ctx, s.build(commands[0])))}
	}
	built, replies := make([]rueidis.Completed, len(commands)), make([]adapter.Reply, len(commands))
	for i, c := range commands {
		built[i] = s.build(c)
	}
	for i, r := range s.client.DoMulti(ctx, built...) {
		replies[i] = reply(r)
	}
	return replies
}

func (s sender) build(c adapter.Command) rueidis.Completed {
	built := s.client.B().Arbitrary(c.Words...).Build()
	if c.Key == "" {
		return built
	}
	return built.SetSlot(c.Key)
}

func reply(r rueidis.RedisResult) (got adapter.Reply) {
	if err := r.NonRedisError(); err != nil {
		return adapter.Reply{Err: err}
	}
	m, _ := r.ToMessage()
	got.Value, got.Err = value(m)
	return got
}

// value returns a reply. The errors of rueidis lack the code ERR, and ToString has the whole text.
func value(m rueidis.RedisMessage) (any, error) {
	switch err := m.Error(); {
	case rueidis.IsRedisNil(err):
		return nil, redis.Nil
	case err != nil:
		text, _ := m.ToString()
		return nil, adapter.ServerError(text)
	case !m.IsArray():
		return m.ToAny()
	}
	list, _ := m.ToArray()
	values := make([]any, len(list))
	for i := range list {
		v, err := value(list[i])
		if err != nil && !errors.Is(err, redis.Nil) {
			v = err
		}
		values[i] = v
	}
	return values, nil
}
