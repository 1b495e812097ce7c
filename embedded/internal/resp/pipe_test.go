package resp

import (
	"errors"
	"io"
	"os"
	"testing"
	"time"
)

func TestPair_buffersAndEnds(t *testing.T) {
	a, b := Pipe()
	big := make([]byte, 1<<20)
	if n, err := a.Write(big); n != len(big) || err != nil { // there is no reader yet
		t.Fatalf("Write = %d, %v", n, err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(b); len(got) != len(big) || err != nil {
		t.Errorf("read %d bytes, %v, want all that was written before Close", len(got), err)
	}
	if _, err := b.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Write to a closed end: %v", err)
	}
}

func TestPair_readDeadline(t *testing.T) {
	a, b := Pipe()
	defer b.Close()
	if err := a.SetDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Read after its deadline: %v", err)
	}
	if err := a.SetDeadline(time.Now().Add(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Read that waits for its deadline: %v", err)
	}
	if err := a.SetDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if n, err := a.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("Read without a deadline: %d, %v", n, err)
	}
}
