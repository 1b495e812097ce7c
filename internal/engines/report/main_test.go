package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReport_oneBlockForAllProcesses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report")
	text := `{"package":"a","engine":"embedded","version":"Redis 8.0.0","how":"in the process","tests":3}
{"package":"a","engine":"redis-7.0","version":"Redis 7.0.15","how":"container redis:7.0","tests":2,"required":true}
{"package":"a","engine":"valkey-8","tests":0,"reason":"docker does not answer"}
{"package":"b","engine":"embedded","version":"Redis 8.0.0","how":"in the process","tests":4}
{"package":"b","engine":"redis-7.0","tests":0,"reason":"-short"}
{"package":"b","engine":"valkey-8","tests":0,"reason":"docker does not answer"}
`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	lines, err := read(file)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if write(&out, summarize(lines), []string{"redis-7.0", "valkey-8"}) {
		t.Error("write is content although no test used valkey-8")
	}
	want := `engines that the tests ran on:
  embedded                   Redis 8.0.0    7 tests in 2 packages (in the process)
  redis-7.0                  Redis 7.0.15   2 tests in 1 package (container redis:7.0)
engines that they did not run on:
  redis-7.0                  NOT IN EVERY PACKAGE: -short
  valkey-8                   NOT RUN: docker does not answer
  valkey-8                   REQUIRED, and no test used it
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("the block (-want +got):\n%s", diff)
	}
}

func TestReport_noProcessUsedAnEngine(t *testing.T) {
	lines, err := read(filepath.Join(t.TempDir(), "absent"))
	if err != nil {
		t.Fatal(err)
	}
	if !write(new(bytes.Buffer), summarize(lines), nil) {
		t.Error("write fails although nothing is required")
	}
}
