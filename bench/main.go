// Command bench measures the cost of a decision: at the server, at the caller, and behind guard.
//
// It prints one table. It measures other limiters in the same run, because numbers of different runs or machines are not comparable. A
// missed goal is a line of output, not an exit status.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// settings are the values of the flags.
type settings struct {
	redis   string // URL of a running server; "" starts one
	engine  string
	parts   string
	only    string
	callers []int
	rounds  int
	quick   bool
	profile string
	envoy   string // program of envoyproxy/ratelimit
}

func main() {
	var s settings
	flag.StringVar(&s.redis, "redis", "", "`URL` of the server to measure; it must be empty, and is emptied (default: a new server)")
	flag.StringVar(&s.engine, "engine", "", "server to start: a program such as redis-server, or an image such as docker:redis:8.0 (default: redis-server or valkey-server on PATH)")
	flag.StringVar(&s.parts, "parts", "server,caller,guard", "what to measure; also serve")
	flag.StringVar(&s.only, "only", "", "text in the names of rows to measure, with the rows that they are compared with")
	flag.IntVar(&s.rounds, "rounds", 15, "measurements of each row; the table shows medians")
	flag.BoolVar(&s.quick, "quick", false, "3 rounds over fewer keys, for a rough estimate")
	flag.StringVar(&s.profile, "cpuprofile", "", "write a CPU profile of this program (the caller and guard parts) to this `file`")
	flag.StringVar(&s.envoy, "envoy", "", "`program` of envoyproxy/ratelimit (src/service_cmd), to compare the serve part with (default: none)")
	callers := flag.String("callers", "1,4,16,64,256", "`numbers` of concurrent callers in the caller and guard parts")
	empty := flag.String("empty", "", "only be the empty gRPC server of the serve part, at this `address`")
	flag.Parse()
	if *empty != "" {
		fmt.Fprintln(os.Stderr, "bench:", serveEmpty(*empty))
		os.Exit(1)
	}

	for _, n := range strings.Split(*callers, ",") {
		number, err := strconv.Atoi(n)
		if err != nil || number < 1 {
			fmt.Fprintf(os.Stderr, "bench: -callers must be numbers above 0 with commas, got %q\n", *callers)
			os.Exit(1)
		}
		s.callers = append(s.callers, number)
	}

	slog.SetDefault(slog.New(slog.DiscardHandler)) // guard tells of each second in which a call came too late

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, s)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures the selected parts and prints the rows. It returns an error if a measurement is not possible.
func run(ctx context.Context, s settings) error {
	if s.quick {
		s.rounds = min(s.rounds, 3)
	}
	if s.profile != "" {
		f, err := os.Create(s.profile)
		if err != nil {
			return fmt.Errorf("write the profile: %w", err)
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return fmt.Errorf("start the profile: %w", err)
		}
		defer pprof.StopCPUProfile()
	}
	measured := Run{Started: time.Now().UTC().Truncate(time.Second), Machine: machine(), Rounds: s.rounds}
	srv, err := startServer(ctx, s)
	if err != nil {
		return err
	}
	defer srv.stop()
	measured.Server = srv.version
	for _, part := range []struct {
		name    string
		measure func(context.Context, *server, settings) ([]Row, error)
	}{{"server", serverRows}, {"caller", callerRows}, {"guard", guardRows}, {"serve", serveRows}} {
		if !strings.Contains(","+s.parts+",", ","+part.name+",") {
			continue
		}
		progress("%s", part.name)
		rows, err := part.measure(ctx, srv, s)
		if err != nil {
			return fmt.Errorf("measure %s: %w", part.name, err)
		}
		measured.Rows = append(measured.Rows, rows...)
	}
	return measured.writeTable(os.Stdout)
}

// progress prints to stderr, because stdout is for the table.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...)
}
