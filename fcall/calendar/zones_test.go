package calendar_test

import (
	"archive/zip"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall/calendar"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

var (
	first = time.Date(1970, 1, 3, 0, 0, 0, 0, time.UTC)
	last  = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
)

// zones returns the names of Go's zone database.
func zones(t *testing.T) []string {
	onpath.Used() // what it reads is not part of this program
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	file, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var names []string
	for _, f := range file.File {
		if !strings.HasSuffix(f.Name, "/") && f.Name != "Factory" {
			names = append(names, f.Name)
		}
	}
	return names
}

// aPeriod is a period, with the local time at which the one starts that a local time is in.
type aPeriod struct {
	calendar.Period
	starts func(local time.Time) time.Time
}

func date(y int, m time.Month, d int, clock time.Duration) time.Time {
	days := time.Date(y, m+1, 0, 0, 0, 0, 0, time.UTC).Day()
	return time.Date(y, m, min(d, days), 0, 0, 0, 0, time.UTC).Add(clock)
}

// backTo steps back until a start is not after a local time.
func backTo(local time.Time, start func(back int) time.Time) time.Time {
	for back := 0; ; back++ {
		if s := start(back); !s.After(local) {
			return s
		}
	}
}

var periods = []aPeriod{
	{calendar.Period{Every: calendar.Day}, func(l time.Time) time.Time { return date(l.Year(), l.Month(), l.Day(), 0) }},
	{calendar.Period{Every: calendar.Day, Starts: "02:30"}, func(l time.Time) time.Time {
		return backTo(l, func(back int) time.Time {
			return date(l.Year(), l.Month(), l.Day(), 150*time.Minute).AddDate(0, 0, -back)
		})
	}},
	{calendar.Period{Every: calendar.Week, Starts: "sunday"}, func(l time.Time) time.Time {
		return date(l.Year(), l.Month(), l.Day(), 0).AddDate(0, 0, -int(l.Weekday()))
	}},
	{calendar.Period{Every: calendar.Month}, func(l time.Time) time.Time { return date(l.Year(), l.Month(), 1, 0) }},
	{calendar.Period{Every: calendar.Month, Starts: "31 23:59"}, func(l time.Time) time.Time {
		return backTo(l, func(back int) time.Time {
			return date(l.Year(), l.Month()-time.Month(back), 31, 24*time.Hour-time.Minute)
		})
	}},
	{calendar.Period{Every: calendar.Year, Starts: "02-29 01:00"}, func(l time.Time) time.Time {
		return backTo(l, func(back int) time.Time { return date(l.Year()-back, 2, 29, time.Hour) })
	}},
}

// local returns what the clock on the wall shows, as if it were UTC.
func local(at time.Time, zone *time.Location) time.Time {
	_, offset := at.In(zone).Zone()
	return at.UTC().Add(time.Duration(offset) * time.Second)
}

// started returns the start of the period that was the latest to have started, by all that the clock has shown in the last 26 hours.
// Between two transitions of its zone a clock shows the latest start at the end.
func (p aPeriod) started(at time.Time, zone *time.Location) time.Time {
	latest := p.starts(local(at, zone))
	oldest := at.Add(-26 * time.Hour)
	for {
		transition, _ := at.In(zone).ZoneBounds()
		if transition.IsZero() || transition.Before(oldest) {
			return latest
		}
		at = transition.Add(-1)
		if s := p.starts(local(at, zone)); s.After(latest) {
			latest = s
		}
	}
}

// samples are times of a zone: some, and some beside its transitions.
func samples(draw *rand.Rand, zone *time.Location) (times []time.Time) {
	span := last.Sub(first) / time.Second
	for range 4 {
		at := first.Add(time.Duration(draw.Int64N(int64(span))) * time.Second)
		times = append(times, at, at.Add(-1))
		if _, end := at.In(zone).ZoneBounds(); !end.IsZero() && end.Before(last) {
			times = append(times, end, end.Add(-time.Second), end.Add(time.Duration(draw.Int64N(86400)-43200)*time.Second))
		}
	}
	return times
}

func TestAround_allZones(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for _, name := range zones(t) {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			p := periods[draw.IntN(len(periods))]
			p.Zone = name
			c := mustNew(t, p.Period)
			for _, at := range samples(draw, zone) {
				b := c.Around(at)
				checkPartition(t, c, p.Period, at, b)
				before, inside, atLast := p.started(b.Start.Add(-1), zone), p.started(b.Start, zone), p.started(b.Next.Add(-1), zone)
				if !before.Before(inside) || !inside.Equal(atLast) {
					t.Fatalf("%+v at %v: %+v is not one period: it began as %v and ended as %v, after %v", p.Period, at, b, inside, atLast, before)
				}
				if shown := local(b.Start, zone); !shown.Equal(inside) && local(b.Start.Add(-time.Second), zone).Add(time.Second).Equal(shown) {
					t.Fatalf("%+v at %v: the clock shows %v at its start, and skips nothing", p.Period, at, shown)
				}
			}
		}
	}
}

// checkPartition checks that each instant is in one period.
func checkPartition(t *testing.T, c *calendar.Calendar, p calendar.Period, at time.Time, b calendar.Boundaries) {
	t.Helper()
	if !b.Previous.Before(b.Start) || !b.Start.Before(b.Next) || !b.Next.Before(b.After) || !b.Contains(at) {
		t.Fatalf("%+v at %v: %+v do not ascend around it", p, at, b)
	}
	if c.Around(b.Start) != b || c.Around(b.Next.Add(-1)) != b {
		t.Fatalf("%+v: the first and last instants of %+v are in another period", p, b)
	}
	if next := c.Around(b.Next); next.Previous != b.Start || next.Start != b.Next || next.Next != b.After {
		t.Fatalf("%+v: %+v does not follow %+v", p, next, b)
	}
	if before := c.Around(b.Start.Add(-1)); before.Start != b.Previous || before.Next != b.Start || before.After != b.Next {
		t.Fatalf("%+v: %+v does not precede %+v", p, before, b)
	}
}

func TestAround_hoursOfAllZones(t *testing.T) {
	draw := rand.New(rand.NewPCG(3, 4))
	for _, name := range zones(t) {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		p := calendar.Period{Every: calendar.Hour, Zone: name}
		c := mustNew(t, p)
		for i, at := range samples(draw, zone) {
			b := c.Around(at)
			checkPartition(t, c, p, at, b)
			for s := b.Start; i < 3 && s.Before(b.Next); s = s.Add(time.Second) {
				if full := local(s, zone).Truncate(time.Hour).Equal(local(s, zone)); full != s.Equal(b.Start) {
					t.Fatalf("%+v at %v: the clock shows %v in the hour that starts at %v", p, at, local(s, zone), b.Start)
				}
			}
		}
	}
}
