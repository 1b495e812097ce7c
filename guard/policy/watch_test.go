package policy

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A call is a call of Watch's function: the policy's namespace, or the error.
type call struct {
	namespace string
	err       error
}

// watch starts to watch a file and returns the calls.
func watch(t *testing.T, path string) <-chan call {
	t.Helper()
	all := make(chan call, 100)
	Watch(t.Context(), path, func(p *Policy, err error) {
		if err != nil {
			all <- call{err: err}
			return
		}
		all <- call{namespace: p.Namespace}
	})
	return all
}

// next waits for the next call.
func next(t *testing.T, all <-chan call) call {
	t.Helper()
	select {
	case got := <-all:
		return got
	case <-time.After(20 * time.Second):
		t.Fatal("no call within 20 s")
		return call{}
	}
}

func wantNext(t *testing.T, all <-chan call, namespace string) {
	t.Helper()
	got := next(t, all)
	for got.err != nil && strings.HasSuffix(got.err.Error(), "is empty: write at least `version: 1`") {
		got = next(t, all) // the file was read between truncation and writing
	}
	if got.err != nil || got.namespace != namespace {
		t.Fatalf("want %s, got %+v", namespace, got)
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

func TestWatch_fileWrittenInPlaceAndInvalidFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.yaml")
	write(t, path, "namespace: one")
	all := watch(t, path)
	wantNext(t, all, "one")
	write(t, path, "namespace: two") // truncates, then writes
	wantNext(t, all, "two")
	write(t, path, "namespace: a b")
	var e *Error
	if got := next(t, all); !errors.As(got.err, &e) || !strings.HasPrefix(got.err.Error(), path+":1:12: namespace: ") {
		t.Fatalf("got %+v", got)
	}
	write(t, path, "namespace: two")
	wantNext(t, all, "two")
}

func TestWatch_configMap(t *testing.T) {
	dir := t.TempDir()
	release := func(folder, namespace string) {
		do(t, os.Mkdir(filepath.Join(dir, folder), 0o700))
		write(t, filepath.Join(dir, folder, "policy.yaml"), "namespace: "+namespace)
		do(t, os.Symlink(folder, filepath.Join(dir, "..data_tmp")))
		do(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	}
	release("..2026_1", "one")
	path := filepath.Join(dir, "policy.yaml")
	do(t, os.Symlink(filepath.Join("..data", "policy.yaml"), path))
	all := watch(t, path)
	wantNext(t, all, "one")
	release("..2026_2", "two")
	do(t, os.RemoveAll(filepath.Join(dir, "..2026_1")))
	wantNext(t, all, "two")
	release("..2026_3", "three")
	wantNext(t, all, "three")
}

func TestWatch_folderRemovedAndRestored(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "etc")
	path := filepath.Join(dir, "policy.yaml")
	do(t, os.Mkdir(dir, 0o700))
	write(t, path, "namespace: one")
	all := watch(t, path)
	wantNext(t, all, "one")
	do(t, os.RemoveAll(dir))
	if got := next(t, all); !errors.Is(got.err, os.ErrNotExist) {
		t.Fatalf("got %+v", got)
	}
	do(t, os.Mkdir(dir, 0o700))
	write(t, path, "namespace: two")
	wantNext(t, all, "two")
}

func TestWatch_missingFileAppears(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.yaml")
	all := watch(t, path)
	if got := next(t, all); !errors.Is(got.err, os.ErrNotExist) {
		t.Fatalf("got %+v", got)
	}
	write(t, path, "namespace: one")
	wantNext(t, all, "one")
}
