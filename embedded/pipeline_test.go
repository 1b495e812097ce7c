package embedded_test

import (
	"io"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
)

func TestPipeline_goesOnAfterABlockedCommand(t *testing.T) {
	_, c := blockingServer(t, embedded.Options{})
	for _, key := range []string{"nokey", "queue"} {
		c.RPush(t.Context(), "queue", "x")
		var ping *redis.StatusCmd
		_, err := c.Pipelined(t.Context(), func(p redis.Pipeliner) error {
			p.Do(t.Context(), "BLPOP", key, "0.01")
			p.Do(t.Context(), "BLPOP", "nokey", "0.01")
			ping = p.Ping(t.Context())
			return nil
		})
		if err != redis.Nil || ping.Val() != "PONG" {
			t.Errorf("BLPOP of %s and of nokey, PING: %v, PING's reply %q", key, err, ping.Val())
		}
	}
}

func TestListen_answersACommandBeforeTheNextIsComplete(t *testing.T) {
	a := attack(t, embedded.RunT(t))
	for _, step := range []struct{ sent, want string }{
		{"PING\r\nPI", "+PONG\r\n"},
		{"NG\r\n*1\r\n$4\r\nPI", "+PONG\r\n"},
		{"NG\r\n", "+PONG\r\n"},
	} {
		a.send(step.sent)
		got := make([]byte, len(step.want))
		if _, err := io.ReadFull(a, got); err != nil || string(got) != step.want {
			t.Errorf("%q: got %q, %v, want %q", step.sent, got, err, step.want)
		}
	}
}

func TestListen_noticesTheEndOfABlockedConnectionThatHasSentMore(t *testing.T) {
	s := embedded.RunT(t)
	c := s.Client()
	t.Cleanup(func() { c.Close() })
	a := attack(t, s)
	a.send("BLPOP nokey 0\r\nPING\r\n")
	waitBlocked(t, c, "1")
	for range 3 {
		a.send("SET k v\r\n")
		time.Sleep(5 * time.Millisecond) // each in a read of its own
	}
	if err := a.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	waitBlocked(t, c, "0")
}
