package adapter

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

// A recorder answers each Send with the next replies.
type recorder struct {
	sent    [][]Command
	replies [][]Reply
}

func (r *recorder) Send(_ context.Context, commands []Command) []Reply {
	r.sent = append(r.sent, commands)
	next := r.replies[0]
	r.replies = r.replies[1:]
	return next
}

func open(t *testing.T, clustered bool, replies ...[]Reply) (*Client, *recorder) {
	t.Helper()
	r := &recorder{replies: replies}
	c, err := New(r, clustered)
	if err != nil {
		t.Fatal(err)
	}
	return c, r
}

// oneNode is the reply to CLUSTER SLOTS of one node.
var oneNode = []Reply{{Value: []any{[]any{int64(0), int64(16383), []any{"127.0.0.1", int64(7001), "id"}}}}}

func TestClient_routesByTheFirstKey(t *testing.T) {
	c, r := open(t, false, []Reply{{Value: int64(1)}, {Value: "x"}, {Err: redis.Nil}, {Err: ServerError("ERR no")}})
	ctx, pipe := t.Context(), c.Pipeline()
	cmds := []*redis.Cmd{
		redis.NewCmd(ctx, "FCALL", "f", 2, "first", "second", int64(-7), 1.5, []byte("x")),
		redis.NewCmd(ctx, "FCALL_RO", "g", "1", "key"),
		redis.NewCmd(ctx, "FCALL", "f", 0, "not-a-key"),
		redis.NewCmd(ctx, "FUNCTION", "LOAD", "code"),
	}
	for _, cmd := range cmds {
		_ = pipe.Process(ctx, cmd)
	}
	_, err := pipe.Exec(ctx)
	if diff := cmp.Diff([][]Command{{
		{"first", []string{"FCALL", "f", "2", "first", "second", "-7", "1.5", "x"}},
		{"key", []string{"FCALL_RO", "g", "1", "key"}},
		{anyKey, []string{"FCALL", "f", "0", "not-a-key"}},
		{anyKey, []string{"FUNCTION", "LOAD", "code"}},
	}}, r.sent); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	var got []string
	for _, cmd := range cmds {
		got = append(got, fmt.Sprint(cmd.Val(), " ", cmd.Err()))
	}
	if diff := cmp.Diff([]string{"1 <nil>", "x <nil>", "<nil> redis: nil", "<nil> ERR no"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if !errors.Is(err, redis.Nil) {
		t.Errorf("Exec returns %v, want the first error", err)
	}
}

func TestClient_rejectsWhatItCannotSend(t *testing.T) {
	c, r := open(t, false, []Reply{{Value: "PONG"}})
	ctx := t.Context()
	if err := c.Process(ctx, redis.NewCmd(ctx, "SET", "key", struct{}{})); fmt.Sprint(err) != "adapter: cannot send word 3, a struct {}" || len(r.sent) > 0 {
		t.Errorf("error is %v, sent %v", err, r.sent)
	}
	if err := c.Process(ctx, redis.NewStatusCmd(ctx, "PING")); fmt.Sprint(err) != "adapter: *redis.StatusCmd cannot hold a reply; use redis.Cmd" {
		t.Errorf("error is %v", err)
	}
}

// On a cluster, a command without keys goes in a transaction, whose own error it returns.
func TestProcessAt_returnsItsPartOfTheTransaction(t *testing.T) {
	const aborted = ServerError("EXECABORT Transaction discarded because of previous errors.")
	queued := Reply{Value: "QUEUED"}
	for _, step := range []struct {
		name    string
		replies []Reply
		want    string
	}{
		{"done", []Reply{{Value: "OK"}, queued, queued, {Value: []any{"none", "name"}}}, "name <nil>"},
		{"refused in it", []Reply{{Value: "OK"}, queued, queued, {Value: []any{"none", ServerError("ERR exists")}}}, "<nil> ERR exists"},
		{"refused before", []Reply{{Value: "OK"}, queued, {Err: ServerError("NOPERM no")}, {Err: aborted}}, "<nil> NOPERM no"},
		{"lost", []Reply{{Value: "OK"}, queued, queued, {Err: context.DeadlineExceeded}}, "<nil> context deadline exceeded"},
		{"another reply", []Reply{{Value: "OK"}, queued, queued, {Value: []any{}}}, "<nil> adapter: the reply to EXEC has no two elements"},
	} {
		t.Run(step.name, func(t *testing.T) {
			c, r := open(t, true, oneNode, step.replies)
			cmd := redis.NewCmd(t.Context(), "FUNCTION", "LOAD", "code")
			_ = c.ProcessAt(t.Context(), "key", cmd)
			if diff := cmp.Diff(step.want, fmt.Sprint(cmd.Val(), " ", cmd.Err())); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if diff := cmp.Diff([]Command{{"", []string{"MULTI"}}, {"key", []string{"TYPE", "key"}}, {"key", []string{"FUNCTION", "LOAD", "code"}}, {"", []string{"EXEC"}}}, r.sent[1]); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestNew_readsTheSlots(t *testing.T) {
	c, _ := open(t, true, oneNode)
	if got := c.Node("key"); got != "127.0.0.1:7001" {
		t.Errorf("the node is %s", got)
	}
	primary := []any{"127.0.0.1", int64(7001)}
	for name, reply := range map[string]Reply{
		"an error":       {Err: ServerError("NOPERM no")},
		"text":           {Value: "OK"},
		"a short row":    {Value: []any{[]any{int64(0), int64(1)}}},
		"a text as slot": {Value: []any{[]any{"0", int64(1), primary}}},
		"no such slot":   {Value: []any{[]any{int64(0), int64(16384), primary}}},
		"below 0":        {Value: []any{[]any{int64(-1), int64(5), primary}}},
		"no port":        {Value: []any{[]any{int64(0), int64(1), []any{"127.0.0.1"}}}},
	} {
		if _, err := New(&recorder{replies: [][]Reply{{reply}}}, true); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
