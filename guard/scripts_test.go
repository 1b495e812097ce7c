package guard_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"golang.org/x/tools/txtar"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

var update = flag.Bool("update", false, "write testdata/scripts.txtar")

// A script is a guard whose requests are those of a file in testdata/scripts.txtar.
type script struct {
	t         *testing.T
	guard     *guard.Guard
	rdb       redis.UniversalClient
	clock     *embedded.ManualClock
	decisions []*guard.Decision
}

// Each script is a policy, and requests with what becomes of them. The text of the archive says what a line may be.
func TestScripts(t *testing.T) {
	const path = "testdata/scripts.txtar"
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, file := range archive.Files {
		t.Run(file.Name, func(t *testing.T) {
			text, lines, _ := strings.Cut(string(file.Data), "\n# requests\n")
			ways := []string{"one server", "several servers"}
			for _, way := range append(ways, "without Redis") {
				if strings.Contains(text, "# "+way+"\n") {
					ways = []string{way}
				}
			}
			for _, way := range ways {
				s := newScript(t, way, text)
				var got strings.Builder
				for line := range strings.Lines(lines) {
					do, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " -> ")
					if got.WriteString(do); do != "" && do[0] != '#' {
						if becomes := s.do(do); becomes != "" {
							got.WriteString(" -> " + becomes)
						}
					}
					got.WriteString("\n")
				}
				if *update && way == ways[0] {
					lines = got.String()
					archive.Files[i].Data = []byte(text + "\n# requests\n" + lines)
				} else if diff := cmp.Diff(strings.Split(lines, "\n"), strings.Split(got.String(), "\n")); diff != "" {
					t.Errorf("%s (-want +got):\n%s", way, diff)
				}
			}
		})
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func newScript(t *testing.T, way, text string) *script {
	t.Helper()
	p, err := policy.Parse("policy.yaml", []byte("version: 1\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	inMemory, clock := inProcess(t)
	rdb, o := redis.UniversalClient(inMemory), guard.Options{CacheSize: -1, BreakFor: time.Hour}.WithLocalClock(clock)
	if strings.Contains(text, "# remembering\n") {
		o.CacheSize = 0
	}
	switch way {
	case "several servers":
		rdb = manySlots{inMemory}
	case "without Redis":
		rdb = client(t, closedPort(t))
	}
	return &script{t: t, guard: newGuard(t, rdb, p, o), rdb: rdb, clock: clock}
}

// do does what a line says, and returns what becomes of it.
func (s *script) do(line string) string {
	words := strings.Fields(line)
	var err error
	switch verb := words[0]; verb {
	case "advance":
		s.clock.Advance(s.duration(words[1]))
	case "at":
		at, wrong := time.Parse(time.RFC3339Nano, words[1])
		s.clock.Set(at)
		err = wrong
	case "block":
		err = s.guard.Block(s.t.Context(), words[1], s.duration(words[2]), "")
	case "blocked":
		blocks, wrong := abuse.New(s.rdb, fcall.Options{})
		if err = wrong; err == nil {
			_, err = blocks.Block(s.t.Context(), abuse.BlockParams{Subject: fcall.Subject(words[1]), Duration: s.duration(words[2])})
		}
	case "settle", "end", "respond": // N
		c := s.decisions[s.number(words[1])-1].Charge
		if _, several := s.rdb.(manySlots); several && verb == "settle" { // as another process does
			if c, err = s.guard.ParseCharge(c.Detach().Text()); err != nil {
				s.t.Fatal(err)
			}
		}
		switch verb {
		case "end":
			c.End(s.t.Context(), guard.End{})
		case "respond":
			status := int(s.number(words[2]))
			c.End(s.t.Context(), guard.End{Counts: func(r *policy.Responses) bool { return slices.Contains(r.Status, status) }})
		default:
			var r guard.Request
			s.amounts(&r, words[2:])
			err = c.Settle(s.t.Context(), r.Estimate, r.Units...)
		}
	default:
		r := guard.Request{Endpoint: verb}
		s.amounts(&r, words[1:])
		var d *guard.Decision
		if d, err = s.guard.Decide(s.t.Context(), r); err == nil {
			s.decisions = append(s.decisions, d)
			guard.WaitBackground(s.guard)
			return becomes(d)
		}
	}
	guard.WaitBackground(s.guard)
	switch {
	case errors.Is(err, guard.ErrUnavailable):
		return "unavailable"
	case err != nil:
		return "error: " + err.Error()
	}
	return ""
}

// amounts reads the subjects of a request and what it costs.
func (s *script) amounts(r *guard.Request, words []string) {
	for _, word := range words {
		switch name, value, _ := strings.Cut(word, "="); name {
		case "receipt":
			r.Receipt = value
		case "challenge":
			r.Challenge = value
		case "weight":
			r.Weight = s.number(value)
		case "money":
			m, err := policy.ParseMicros(value)
			if err != nil {
				s.t.Fatal(err)
			}
			r.Estimate = fcall.Micros(m)
		case "tokens", "seconds":
			r.Units = append(r.Units, guard.Amount{Unit: name, N: s.number(value)})
		default:
			r.Subjects = append(r.Subjects, word)
		}
	}
}

func (s *script) number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *script) duration(text string) time.Duration {
	d, err := policy.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

// becomes says what a decision is.
func becomes(d *guard.Decision) string {
	if !d.Allowed {
		text := "refused: " + string(d.Reason)
		for _, part := range []string{d.Block, d.Challenge, d.Refused} {
			if part != "" {
				text += " " + part
			}
		}
		if d.Cached { // of which a part has passed
			return text + ", remembered"
		}
		if d.RetryAfter > 0 {
			text += fmt.Sprintf(", for %s", policy.FormatDuration(d.RetryAfter))
		}
		if d.AwaitsPlace {
			text += ", awaits a place"
		}
		return text
	}
	text := "allowed"
	if d.Duplicate {
		text = "repeated"
	}
	if d.Fallback != guard.FallbackNone {
		text += " " + string(d.Fallback)
	}
	for _, l := range d.Limits {
		refuses := ""
		if !l.Allowed {
			refuses = " over"
		}
		text += fmt.Sprintf("; %s %s %d/%d", l.Name, l.Subject, l.Remaining, l.Limit)
		if l.Window > 0 {
			text += " in " + policy.FormatDuration(l.Window)
		}
		if l.ResetAfter != l.Window {
			text += " until " + policy.FormatDuration(l.ResetAfter)
		}
		text += refuses
	}
	for _, b := range d.Budgets {
		warned := ""
		if b.Warned {
			warned = " warns"
		}
		text += fmt.Sprintf("; %s %s %v/%v in %s%s", b.Name, b.Subject, policy.Micros(b.Spent), policy.Micros(b.Budget), policy.FormatDuration(b.Window), warned)
	}
	return text
}
