package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
)

// A workload is one kind of call whose cost at the server is measured.
type workload struct {
	name string
	// subjects is how many there are. Defaults to 10,000. A round calls once for each of them, or more often if they are
	// few.
	subjects int
	// prepare gives the commands that bring a subject into the state that the call meets, at the server's time now.
	// Defaults to nothing: the call is the subject's first.
	prepare func(s fcall.Subject, now time.Time) [][]any
	// call gives the command that is measured.
	call command
	// also are further commands of one decision, whose cost is added. Defaults to none.
	also []command
	// expect is how the answer to call must begin, so that no other path is measured than the one that name tells: for a function of
	// ours the result struct, else the reply as it came.
	expect string
	// rival is the workload that takes turns with this one, another limiter's or our own. Defaults to none.
	rival string
	// share is the goal: at most that much of what the rival costs; 0 is none.
	share float64
}

// A command is one for a subject.
type command func(fcall.Subject) []any

// subject names the i-th.
func subject(i int) fcall.Subject { return fcall.Subject(fmt.Sprintf("user%d", i)) }

// rivalSubject names the i-th of a rival: where it is a function of ours, it must not meet the keys of the other side.
func rivalSubject(i int) fcall.Subject { return fcall.Subject(fmt.Sprintf("peer%d", i)) }

// A recorder is a caller that keeps the command that a generated client makes of a call, or hands it a reply.
type recorder struct{ args, reply []any }

var errRecorded = errors.New("recorded, not sent")

// Process implements fcall.Caller.
func (r *recorder) Process(_ context.Context, cmd redis.Cmder) error {
	if r.reply != nil {
		cmd.(interface{ SetVal(any) }).SetVal(r.reply[0])
		return nil
	}
	r.args = cmd.Args()
	return errRecorded
}

// of is the command that a method of a generated client sends.
func of[C, P, R any](connect func(fcall.Caller, fcall.Options) (C, error), method func(C, context.Context, P) (R, error), params func(fcall.Subject) P) command {
	r := &recorder{}
	client, err := connect(r, fcall.Options{MaxAttempts: 1})
	if err != nil {
		panic(fmt.Sprintf("make a client: %v", err)) // a workload is wrong
	}
	record := func(s fcall.Subject) []any {
		r.args, r.reply = nil, nil
		_, err := method(client, context.Background(), params(s))
		if r.args == nil {
			panic(fmt.Sprintf("record a call: %v", err)) // a workload is wrong
		}
		return r.args
	}
	name := record("any")[1]
	answers[name] = func(reply []byte) string {
		r.reply = []any{decode(bufio.NewReader(bytes.NewReader(reply)))}
		result, err := method(client, context.Background(), params("any"))
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%+v", result)
	}
	return record
}

// answers are what replies to functions of ours mean, by the word that names them.
var answers = map[any]func(reply []byte) string{}

// after prepares a subject by other calls.
func after(calls ...command) func(fcall.Subject, time.Time) [][]any {
	return func(s fcall.Subject, _ time.Time) [][]any {
		commands := make([][]any, len(calls))
		for i, call := range calls {
			commands[i] = call(s)
		}
		return commands
	}
}

// times repeats a call.
func times(n int, call command) []command {
	calls := make([]command, n)
	for i := range calls {
		calls[i] = call
	}
	return calls
}

// keys are those that a command of the form `NAME what count key ...` names, as FCALL and EVALSHA are, or one of the form
// `NAME key ...`.
func keys(command []any) []string {
	switch strings.ToLower(fmt.Sprint(command[0])) {
	case "fcall", "fcall_ro", "evalsha", "eval":
		var out []string
		count := 0
		_, _ = fmt.Sscan(fmt.Sprint(command[2]), &count)
		for _, key := range command[3 : 3+count] {
			out = append(out, fmt.Sprint(key))
		}
		return out
	}
	return []string{fmt.Sprint(command[1])}
}

// empty is the call that all others are compared with: one key, no argument, and the reply 1.
func empty(s fcall.Subject) []any {
	return []any{"FCALL", "rlfunc_bench_empty", 1, fcall.Key("bench", s, "empty")}
}

// counter is the name under which commandstats counts a command.
func counter(command []any) string { return "cmdstat_" + strings.ToLower(fmt.Sprint(command[0])) }
