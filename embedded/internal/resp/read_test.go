package resp

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func limits() *Limits {
	l := &Limits{}
	l.Argument.Store(1 << 20)
	l.Query.Store(4 << 20)
	return l
}

func TestCommand_readsEveryForm(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	tests := []struct {
		name, input string
		want        []string
	}{
		{"array", "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", []string{"GET", "k"}},
		{"empty argument", "*2\r\n$3\r\nGET\r\n$0\r\n\r\n", []string{"GET", ""}},
		{"line ends within", "*2\r\n$4\r\nECHO\r\n$4\r\n\r\n\r\n\r\n", []string{"ECHO", "\r\n\r\n"}},
		{"longer than the buffer", "*2\r\n$4\r\nECHO\r\n$200000\r\n" + long + "\r\n", []string{"ECHO", long}},
		{"empty arrays before", "*0\r\n*-1\r\n*1\r\n$4\r\nPING\r\n", []string{"PING"}},
		{"inline", "  SET  k v \r\n", []string{"SET", "k", "v"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := NewReader(strings.NewReader(test.input), limits(), func() {}).Command(0)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCommand_takesAsManyArgumentsAsTheQueryLimitHolds(t *testing.T) {
	const n = 1<<20 + 1
	l := limits()
	sent := fmt.Sprintf("*%d\r\n", n) + strings.Repeat("$0\r\n\r\n", n)
	for query, want := range map[int64]error{n * argHeader: nil, n*argHeader - 1: ErrQuery} {
		l.Query.Store(query)
		got, err := NewReader(strings.NewReader(sent), l, func() {}).Command(0)
		if err != want || err == nil && len(got) != n {
			t.Errorf("limit %d: %d arguments, %v, want %v", query, len(got), err, want)
		}
	}
}

func TestCommand_cutShortIsTheEnd(t *testing.T) {
	whole := "*2\r\n$3\r\nGET\r\n$70000\r\n" + strings.Repeat("x", 70_000) + "\r\n"
	for _, n := range []int{0, 1, 3, 6, 9, 12, 20, 100, len(whole) - 1} {
		_, err := NewReader(strings.NewReader(whole[:n]), limits(), func() {}).Command(0)
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("the first %d bytes: %v, want the end of input", n, err)
		}
	}
}

func TestAppend_keepsTheLine(t *testing.T) {
	v := List(Err("ERR a\r\nb"), Simple("OK"), Integer(-5), Null, NullArray, Text("\r\n"), List())
	want := "*7\r\n-ERR a  b\r\n+OK\r\n:-5\r\n$-1\r\n*-1\r\n$2\r\n\r\n\r\n*0\r\n"
	if diff := cmp.Diff(want, string(Append(nil, v, 2))); diff != "" {
		t.Errorf("bytes (-want +got):\n%s", diff)
	}
}

func FuzzCommand(f *testing.F) {
	f.Add("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n")
	f.Add("SET k \"a\\x00\" 'b'\r\n")
	f.Fuzz(func(t *testing.T, input string) {
		r := NewReader(strings.NewReader(input), limits(), func() {})
		for {
			args, err := r.Command(0)
			if err != nil {
				return
			}
			if len(args) == 0 {
				t.Fatalf("%q: a command without a name", input)
			}
		}
	})
}

func TestCommand_takesNoMemoryForALengthAlone(t *testing.T) {
	l := limits()
	l.Argument.Store(512 << 20)
	l.Query.Store(1 << 30)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := NewReader(strings.NewReader("*1048576\r\n$536870912\r\nabc"), l, func() {}).Command(0); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want the end of input", err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes allocated for an argument of which 3 bytes arrived", n)
	}
}
