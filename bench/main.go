// Command bench measures what a decision costs: at the server, at the caller, on the embedded engine, and in memory.
//
// It prints one table. Beside the functions of this project it measures other limiters in the same run, because a
// number from another run or another machine says little. It never fails a build: a missed goal is a line, not a status.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
	"strings"
	"syscall"
	"time"
)

// A settings is what the flags say.
type settings struct {
	redis   string // URL of a server that is there; empty starts one
	engine  string
	parts   string
	only    string
	rounds  int
	quick   bool
	json    bool
	profile string
}

func main() {
	var s settings
	flag.StringVar(&s.redis, "redis", "", "measure this `URL`'s server, which must hold nothing: it is emptied (default: one is started)")
	flag.StringVar(&s.engine, "engine", "", "server to start: a program such as redis-server, or an image such as docker:redis:8.0 (default: redis-server or valkey-server on PATH)")
	flag.StringVar(&s.parts, "parts", "server,caller,guard,embedded,memory", "what to measure")
	flag.StringVar(&s.only, "only", "", "of the server's rows, those whose name holds this text, and what they are compared with")
	flag.IntVar(&s.rounds, "rounds", 15, "how often each row is measured; the table gives medians")
	flag.BoolVar(&s.quick, "quick", false, "3 rounds over fewer keys: a look, not a measurement")
	flag.BoolVar(&s.json, "json", false, "print the rows as JSON")
	flag.StringVar(&s.profile, "cpuprofile", "", "write a CPU profile of this program (the caller and embedded parts) to this `file`")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, s)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures what was asked for and prints it. Its errors are those of a run that could not take place.
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
	report := Report{Started: time.Now().UTC().Truncate(time.Second), Machine: machine(), Rounds: s.rounds}
	wants := func(part string) bool { return strings.Contains(","+s.parts+",", ","+part+",") }
	if wants("server") || wants("caller") || wants("guard") || wants("memory") {
		srv, err := startServer(ctx, s)
		if err != nil {
			return err
		}
		defer srv.stop()
		report.Server = srv.version
		for _, part := range []struct {
			name    string
			measure func(context.Context, *server, settings) ([]Row, error)
		}{{"server", serverRows}, {"memory", memoryRows}, {"caller", callerRows}, {"guard", guardRows}} {
			if !wants(part.name) {
				continue
			}
			progress("%s", part.name)
			rows, err := part.measure(ctx, srv, s)
			if err != nil {
				return fmt.Errorf("measure %s: %w", part.name, err)
			}
			report.Rows = append(report.Rows, rows...)
		}
	}
	if wants("embedded") {
		progress("embedded")
		rows, err := embeddedRows(ctx, s)
		if err != nil {
			return fmt.Errorf("measure embedded: %w", err)
		}
		report.Rows = append(report.Rows, rows...)
	}
	if s.json {
		return report.writeJSON(os.Stdout)
	}
	return report.writeTable(os.Stdout)
}

// progress says what is going on: stdout is for the table.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...)
}
