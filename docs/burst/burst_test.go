package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/functions"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/internal/engines"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

func TestMain(m *testing.M) { engines.Main(m) }

const file = "limiters.svg"

func TestPicture_isOfARun(t *testing.T) {
	if err := draw(t.Context(), file, true); err != nil {
		t.Error(err)
	}
}

// A picture that is not well-formed is shown as a broken one.
func TestPicture_isWellFormed(t *testing.T) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	decoder := xml.NewDecoder(bytes.NewReader(text))
	for err == nil {
		_, err = decoder.Token()
	}
	if !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

func TestCheck_findsAStalePicture(t *testing.T) {
	stale := filepath.Join(t.TempDir(), file)
	if err := os.WriteFile(stale, []byte("<svg/>"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := draw(t.Context(), stale, true); err == nil || !strings.Contains(err.Error(), stale) {
		t.Errorf("a stale picture: %v", err)
	}
	if err := draw(t.Context(), stale, false); err != nil {
		t.Fatal(err)
	}
	if err := draw(t.Context(), stale, true); err != nil {
		t.Errorf("the picture just drawn: %v", err)
	}
}

// The picture shows what real servers do.
func TestRuns_areTheSameOnEveryEngine(t *testing.T) {
	runs, err := record(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]answers{}
	for _, r := range runs {
		want[r.Name+r.Limits] = answers{r.Admitted, r.Refused}
	}
	compare(t, ratelimit.Library, ratelimit.New, limiters, want)
	compare(t, abuse.Library, abuse.New, blocks, want)
}

type answers struct{ Admitted, Refused []time.Duration }

func compare[C any](t *testing.T, library *fcall.Library, client func(fcall.Caller, fcall.Options) (C, error), kinds func(C) []kind, want map[string]answers) {
	t.Helper()
	suite := luatest.Suite[C]{Library: library, Client: client, Source: functions.FS, Root: functions.Root, Engines: allEngines}
	suite.Each(t, func(t *testing.T, s *luatest.Server, client C) {
		runs, err := play(t.Context(), kinds(client), func(d time.Duration) { s.Advance(t, d) })
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			if diff := cmp.Diff(want[r.Name+r.Limits], answers{r.Admitted, r.Refused}); diff != "" {
				t.Errorf("%s, %s (-drawn +got):\n%s", r.Name, r.Limits, diff)
			}
		}
	})
}

func allEngines(t testing.TB) []luatest.Engine {
	var all []luatest.Engine
	for _, e := range engines.Ends(t) {
		all = append(all, luatest.Engine{Name: e.Name, Client: e.Client, Embedded: e.Embedded, Clock: e.Clock})
	}
	return all
}
