package guard_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/reload"
)

// A report is what hooks learn of a file: the timeout of the new policy, or the error.
type report struct {
	timeout string
	err     error
}

// watch starts to watch a file and returns the reports.
func watch(t *testing.T, path string) <-chan report {
	t.Helper()
	rdb, _ := inProcess(t)
	all := make(chan report, 100)
	var g *guard.Guard
	g = newGuard(t, rdb, &policy.Policy{}, guard.Options{Observers: on(func(e guard.Reloaded) {
		all <- report{g.Policy().Timeout.String(), e.Err}
	})})
	g.Watch(t.Context(), path)
	return all
}

// next waits for the next report.
func next(t *testing.T, all <-chan report) report {
	t.Helper()
	select {
	case got := <-all:
		return got
	case <-time.After(20 * time.Second):
		t.Fatal("no report within 20 s")
		return report{}
	}
}

func wantNext(t *testing.T, all <-chan report, timeout string) {
	t.Helper()
	got := next(t, all)
	for got.err != nil && strings.HasSuffix(got.err.Error(), "is empty: write at least `version: 1`") {
		got = next(t, all) // the file was read between truncation and writing
	}
	if got.err != nil || got.timeout != timeout {
		t.Fatalf("want %s, got %+v", timeout, got)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWatch_configMap(t *testing.T) {
	dir := t.TempDir()
	release := func(folder, timeout string) {
		do(t, os.Mkdir(filepath.Join(dir, folder), 0o700))
		write(t, filepath.Join(dir, folder, "policy.yaml"), "timeout: "+timeout)
		do(t, os.Symlink(folder, filepath.Join(dir, "..data_tmp")))
		do(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	}
	release("..2026_1", "1s")
	path := filepath.Join(dir, "policy.yaml")
	do(t, os.Symlink(filepath.Join("..data", "policy.yaml"), path))
	all := watch(t, path)
	wantNext(t, all, "1s")
	release("..2026_2", "2s")
	do(t, os.RemoveAll(filepath.Join(dir, "..2026_1")))
	wantNext(t, all, "2s")
	release("..2026_3", "3s")
	wantNext(t, all, "3s")
}

// A policy that guard refuses is no change. reload.All tries it again: what it depends on may be there now.
func TestWatch_refusedPolicy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.yaml")
	write(t, path, "timeout: 1s")
	all := watch(t, path)
	wantNext(t, all, "1s")
	write(t, path, "namespace: other")
	for range 2 {
		if got := next(t, all); got.err == nil || !strings.Contains(got.err.Error(), "cannot change namespace") || got.timeout != "1s" {
			t.Fatalf("got %+v", got)
		}
		if _, _, failed := reload.All(); !slices.Contains(failed, path) {
			t.Errorf("failed: %v", failed)
		}
	}
}
