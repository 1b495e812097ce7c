package engines

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/rlfunc/rlfunc/internal/onpath"
)

// slot is the place of one engine in this process: not asked for yet, running, or not reached.
type slot struct {
	name    string
	real    bool
	between bool // the oldest and the newest servers
	start   func(ctx context.Context, args []string) (*server, error)
	open    func(ctx context.Context) (*server, error) // the one that tests share; nil: by start
	// onPath is what a server on PATH says that it is, "" for the others. Of one version, tests use the image's.
	onPath string

	begun    bool
	server   *server // nil: not reached
	reason   string  // why not
	required bool
	said     sync.Once // that it is not used

	mu    sync.Mutex
	tests map[string]bool
}

// process is what this test process has found and started.
var process struct {
	hasMain atomic.Bool

	reaching sync.Mutex
	slots    []*slot

	mu      sync.Mutex
	begun   int
	running map[int]func() // what ends each
}

// Main runs the tests, ends the servers that they started, writes the report and exits.
func Main(m *testing.M) { os.Exit(Wrap(m).Run()) }

// Runner is what [testing.M] and its likes do.
type Runner interface{ Run() int }

// Wrap is [Main] for a TestMain that another package ends: testscript.Main(engines.Wrap(m), commands).
func Wrap(m Runner) Runner { return wrapped{m} }

type wrapped struct{ Runner }

func (w wrapped) Run() int {
	process.hasMain.Store(true)
	redis.SetLogger(&logging.VoidLogger{}) // what it would log about servers that are not up yet, or gone, comes back as an error as well
	// go test passes an interrupt on; without this the containers would outlive it.
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		stopAll()
		os.Exit(130)
	}()
	defer stopAll()
	code := w.Runner.Run()
	writeReport()
	return code
}

// track notes what has to end with this process, even if it is interrupted. The function that it returns ends it, once.
func track(end func()) (once func()) {
	process.mu.Lock()
	defer process.mu.Unlock()
	if process.running == nil {
		process.running = map[int]func(){}
	}
	process.begun++
	number := process.begun
	once = sync.OnceFunc(func() {
		end()
		process.mu.Lock()
		defer process.mu.Unlock()
		delete(process.running, number)
	})
	process.running[number] = once
	return once
}

func stopAll() {
	process.mu.Lock()
	running := slices.Collect(maps.Values(process.running))
	process.mu.Unlock()
	var wg sync.WaitGroup
	for _, end := range running {
		wg.Go(end)
	}
	wg.Wait()
}

// reach starts the engines that a test wants at once, waits for them, and returns them.
func reach(t testing.TB, isWanted func(*slot) bool) []*slot {
	t.Helper()
	process.reaching.Lock()
	defer process.reaching.Unlock()
	required, patterns := names("RLFUNC_REQUIRE_ENGINES"), names("RLFUNC_ENGINES")
	if process.slots == nil {
		process.slots = catalog()
		if len(required)+len(patterns) == 0 {
			chooseOne(process.slots)
		}
	}
	for _, name := range required {
		if !slices.ContainsFunc(process.slots, func(s *slot) bool { return s.name == name }) {
			t.Fatalf("engines: RLFUNC_REQUIRE_ENGINES names %q, which is not an engine here", name)
		}
	}
	begin := func(s *slot) {
		s.required = slices.Contains(required, s.name)
		switch {
		case len(patterns) > 0 && !slices.Contains(patterns, "all") && !matches(patterns, s.name):
			s.reason = "RLFUNC_ENGINES leaves it out"
		default:
			if twin := s.twin(); twin != nil && !matches(patterns, s.name) && !s.required {
				s.reason = twin.name + " is the same version"
			} else {
				s.reason = ""
				s.begin()
			}
		}
	}
	var all, later []*slot
	var wg sync.WaitGroup
	for _, s := range process.slots {
		if !isWanted(s) {
			continue
		}
		all = append(all, s)
		switch {
		case s.begun:
			continue
		case s.onPath == "":
			wg.Go(func() { begin(s) })
		default:
			later = append(later, s)
		}
		s.begun = true
	}
	wg.Wait()
	for _, s := range later {
		begin(s)
	}
	return all
}

// chooseOne starts the first real server that can be reached, and leaves out all others: a program on PATH, else a container.
func chooseOne(slots []*slot) {
	chosen := false
	for _, s := range slices.Backward(slots) {
		if !s.real {
			continue
		}
		s.begun = true
		if chosen {
			s.reason = notChosen
			continue
		}
		s.begin()
		s.between = false
		chosen = s.server != nil
	}
}

// notChosen is the reason of servers that are left out because tests run on one real server unless RLFUNC_ENGINES asks for more.
const notChosen = "make test-all runs on it"

// twin returns the running engine that has the version of a server on PATH, or nil. The others start beside each other, and have none.
func (s *slot) twin() *slot {
	if s.onPath == "" {
		return nil
	}
	for _, other := range process.slots {
		if other != s && other.server != nil && other.server.version == s.onPath {
			return other
		}
	}
	return nil
}

func (s *slot) begin() {
	open := s.open
	if open == nil {
		open = func(ctx context.Context) (*server, error) { return s.start(ctx, nil) }
	}
	if s.real {
		onpath.Looked()
	}
	srv, err := open(context.Background())
	if err != nil {
		s.reason = strings.Join(strings.Fields(err.Error()), " ")
		return
	}
	if s.real {
		onpath.Used()
	}
	srv.end = track(srv.end)
	s.server = srv
}

// used notes for the report that t ran on the engine.
func (s *slot) used(t testing.TB) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tests == nil {
		s.tests = map[string]bool{}
	}
	s.tests[t.Name()] = true
}

// names splits a list in the environment.
func names(variable string) []string {
	return strings.FieldsFunc(os.Getenv(variable), func(r rune) bool { return r == ',' || r == ' ' })
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}

// ReportPrefix begins the lines that a process of tests prints at its end for internal/engines/summary, one for each engine.
const ReportPrefix = "engines-report: "

// Line is what follows ReportPrefix: the use of an engine in one process of tests.
type Line struct {
	Engine  string `json:"engine"`
	Version string `json:"version,omitempty"`
	How     string `json:"how,omitempty"`
	Tests   int    `json:"tests"`            // tests and subtests that asked for a client
	Reason  string `json:"reason,omitempty"` // why it was not used; empty if it was
}

// writeReport prints this process's lines where go test keeps them. A process that asked for no engine prints none.
func writeReport() {
	if !testing.Verbose() || os.Getenv("RLFUNC_ENGINE_REPORT") == "" {
		return
	}
	for _, s := range process.slots {
		l := Line{Engine: s.name, Reason: s.reason}
		if s.server != nil {
			l.Version, l.How, l.Tests = s.server.version, s.server.how, len(s.tests)
		}
		if text, err := json.Marshal(l); err == nil {
			fmt.Printf("%s%s\n", ReportPrefix, text)
		}
	}
}
