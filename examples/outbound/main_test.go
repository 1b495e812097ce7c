package main

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"
)

// A process of workers is this program, too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-api" {
		main()
		return
	}
	os.Exit(m.Run())
}

// The processes serve requests and report them. How many, on a busy machine, says nothing: httpguard's TestTransport_fleet holds the goals, in virtual time.
func TestSimulate(t *testing.T) {
	t.Setenv("REDIS_URL", "")
	var out bytes.Buffer
	if err := simulate(&out, 2*time.Second, 2); err != nil {
		t.Fatal(err)
	}
	var served int
	if _, err := fmt.Sscanf(out.String(), "requests served %d,", &served); err != nil || served == 0 {
		t.Errorf("%v: %s", err, out.String())
	}
}
