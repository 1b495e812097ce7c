package embedded_test

import (
	"io"
	"testing"

	"github.com/rlfunc/rlfunc/embedded"
)

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
