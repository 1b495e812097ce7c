package luatest

import (
	"fmt"
	"io/fs"
	"sync"
	"testing"

	"github.com/rlfunc/rlfunc/codegen"
	"github.com/rlfunc/rlfunc/codegen/contract"
	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
)

// A Suite is a library under test. C is the generated client's type.
type Suite[C any] struct {
	// Library is the generated package's.
	Library *fcall.Library
	// Client is the generated package's New.
	Client func(fcall.Caller, fcall.Options) (C, error)
	// ExtraLibraries are further libraries that the client calls, on the same clock. Defaults to none.
	ExtraLibraries []*fcall.Library
	// Source has the folders lib and that of the library; real servers need it. Defaults to none.
	// A path in it, as of os.DirFS, is relative to the folder of the test.
	Source fs.FS
	// Root is what the generator calls Source, as rlfunc.yaml has it: "functions".
	Root string
	// Engines says where to run. Defaults to [Engines].
	Engines func(testing.TB) []Engine
	// Parallel runs a test on all engines at the same time. The test must not change variables that its runs share. Defaults to
	// one engine after the other.
	Parallel bool

	strict bool // each step is checked
}

// Run runs a table on each engine, each beginning with an empty server and the clock at [Start].
func (su Suite[C]) Run(t *testing.T, steps ...Step[C]) {
	t.Helper()
	table := func(t *testing.T, s *Server, client C) {
		t.Helper()
		for i, st := range steps {
			st.run(t, s, client, i+1)
		}
	}
	su.strict = true
	su.Each(t, table)
}

// Each runs a test on each engine, as a subtest of its name, with an empty server and the clock at [Start].
func (su Suite[C]) Each(t *testing.T, test func(t *testing.T, s *Server, client C)) {
	t.Helper()
	su.each(t, func(t *testing.T, e Engine) (s *Server) {
		if e.Client == nil || su.strict && e.Clock != nil {
			strict, observer := su.observer(t)
			e = inProcess(t, e.Name, embedded.NewManualClock(Start), observer)
			if strict != nil {
				strict.Server(e.Embedded, e.Clock)
			}
			s = &Server{Engine: e.Name, Redis: e.Client(t), manual: e.Clock, strict: strict}
		} else {
			s = &Server{Engine: e.Name, Redis: e.Client(t), manual: e.Clock, real: e.Embedded == nil}
		}
		if e.Clock == nil {
			s.late = late
		}
		for _, lib := range su.libraries() {
			code := lib.Code
			if e.Clock == nil {
				code = su.onTestClock(t, s, lib)
			}
			s.load(t, e, lib, code)
		}
		s.now = Start
		s.Set(t, Start)
		return s
	}, test)
}

// observer is what makes the steps of a table strict.
func (su Suite[C]) observer(t *testing.T) (*contract.Strict, embedded.Observer) {
	t.Helper()
	if !su.strict {
		return nil, nil
	}
	strict := contract.NewStrict(su.read(t))
	return strict, strict
}

// read reads the headers of the libraries from their code.
func (su Suite[C]) read(t *testing.T) (libs []*contract.Library) {
	t.Helper()
	for _, lib := range su.libraries() {
		l, err := contract.Read(lib)
		if err != nil {
			t.Fatal(err)
		}
		libs = append(libs, l)
	}
	return libs
}

// EachOnRealTime is [Suite.Each] with the library that ships and the server's own clock, which no test can move: for
// expiries in real units ([Server.CheckTTLs]) and for concurrency.
func (su Suite[C]) EachOnRealTime(t *testing.T, test func(t *testing.T, s *Server, client C)) {
	t.Helper()
	su.each(t, func(t *testing.T, e Engine) *Server {
		if e.Client == nil || e.Clock != nil {
			e = inProcess(t, e.Name, nil, nil)
		}
		s := &Server{Engine: e.Name, Redis: e.Client(t), real: e.Embedded == nil}
		for _, lib := range su.libraries() {
			s.load(t, e, lib, lib.Code)
		}
		return s
	}, test)
}

func (su Suite[C]) libraries() []*fcall.Library {
	return append([]*fcall.Library{su.Library}, su.ExtraLibraries...)
}

// checkSource returns an error if Source lacks a library, which only real servers would notice.
func (su Suite[C]) checkSource() error {
	if su.Source == nil {
		return nil
	}
	for _, lib := range su.libraries() {
		if _, err := fs.Stat(su.Source, lib.Name+"/"+codegen.LibraryFile); err != nil {
			return fmt.Errorf("the suite's Source has no %s/%s: its path is relative to the folder of the test, so a test in a folder of its own needs os.DirFS(%q): %w",
				lib.Name, codegen.LibraryFile, "../"+su.Root, err)
		}
	}
	return nil
}

// onTestClock makes what a real server holds of a library.
func (su Suite[C]) onTestClock(t *testing.T, s *Server, lib *fcall.Library) (code string) {
	t.Helper()
	code, err := testBundle(lib, su.Source, su.Root)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func (su Suite[C]) each(t *testing.T, start func(*testing.T, Engine) *Server, test func(*testing.T, *Server, C)) {
	t.Helper()
	if err := su.checkSource(); err != nil {
		t.Fatal(err)
	}
	engines := Engines
	if su.Engines != nil {
		engines = su.Engines
	}
	run := func(e Engine) {
		t.Run(e.Name, func(t *testing.T) {
			s := start(t, e)
			client, err := su.Client(s.Caller, fcall.Options{})
			if err != nil {
				t.Fatal(err)
			}
			test(t, s, client)
		})
	}
	var runs sync.WaitGroup
	for _, e := range engines(t) {
		if su.Parallel {
			runs.Go(func() { run(e) })
		} else {
			run(e)
		}
	}
	runs.Wait()
}
