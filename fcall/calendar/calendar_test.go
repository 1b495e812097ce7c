package calendar_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall/calendar"
)

func mustNew(t testing.TB, p calendar.Period) *calendar.Calendar {
	t.Helper()
	c, err := calendar.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAround_isWhatTheRulesSay(t *testing.T) {
	const berlin = "Europe/Berlin"
	for _, test := range []struct {
		name   string
		period calendar.Period
		at     string
		want   [4]string
	}{
		{
			"UTC and midnight are the defaults",
			calendar.Period{Every: calendar.Day},
			"2026-11-23T17:00:00Z",
			[4]string{"2026-11-22T00:00:00Z", "2026-11-23T00:00:00Z", "2026-11-24T00:00:00Z", "2026-11-25T00:00:00Z"},
		},
		{
			"the start belongs to the period",
			calendar.Period{Every: calendar.Day},
			"2026-11-23T00:00:00Z",
			[4]string{"2026-11-22T00:00:00Z", "2026-11-23T00:00:00Z", "2026-11-24T00:00:00Z", "2026-11-25T00:00:00Z"},
		},
		{
			"the end does not",
			calendar.Period{Every: calendar.Day},
			"2026-11-22T23:59:59.999999999Z",
			[4]string{"2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z", "2026-11-23T00:00:00Z", "2026-11-24T00:00:00Z"},
		},
		{
			"a day of 23 hours",
			calendar.Period{Every: calendar.Day, Zone: berlin},
			"2026-03-29T12:00:00+02:00",
			[4]string{"2026-03-28T00:00:00+01:00", "2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00", "2026-03-31T00:00:00+02:00"},
		},
		{
			"a start that the clock skips",
			calendar.Period{Every: calendar.Day, Zone: berlin, Starts: "02:30"},
			"2026-03-29T12:00:00+02:00",
			[4]string{"2026-03-28T02:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00", "2026-03-31T02:30:00+02:00"},
		},
		{
			"a start that comes twice, before the second one",
			calendar.Period{Every: calendar.Day, Zone: berlin, Starts: "02:30"},
			"2026-10-25T02:15:00+01:00",
			[4]string{"2026-10-24T02:30:00+02:00", "2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00", "2026-10-27T02:30:00+01:00"},
		},
		{
			"a midnight that the clock skips",
			calendar.Period{Every: calendar.Day, Zone: "America/Havana"},
			"2026-03-08T12:00:00-04:00",
			[4]string{"2026-03-07T00:00:00-05:00", "2026-03-08T01:00:00-04:00", "2026-03-09T00:00:00-04:00", "2026-03-10T00:00:00-04:00"},
		},
		{
			"a day that the zone skips",
			calendar.Period{Every: calendar.Day, Zone: "Pacific/Apia"},
			"2011-12-31T12:00:00+14:00",
			[4]string{"2011-12-29T00:00:00-10:00", "2011-12-31T00:00:00+14:00", "2012-01-01T00:00:00+14:00", "2012-01-02T00:00:00+14:00"},
		},
		{
			"the hour that comes again",
			calendar.Period{Every: calendar.Hour, Zone: berlin},
			"2026-10-25T02:30:00+01:00",
			[4]string{"2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00", "2026-10-25T03:00:00+01:00", "2026-10-25T04:00:00+01:00"},
		},
		{
			"hours of a zone at half an hour",
			calendar.Period{Every: calendar.Hour, Zone: "Asia/Kolkata"},
			"2026-11-23T17:00:00Z",
			[4]string{"2026-11-23T15:30:00Z", "2026-11-23T16:30:00Z", "2026-11-23T17:30:00Z", "2026-11-23T18:30:00Z"},
		},
		{
			"weeks start on Monday",
			calendar.Period{Every: calendar.Week, Zone: berlin},
			"2026-10-25T23:59:59+01:00",
			[4]string{"2026-10-12T00:00:00+02:00", "2026-10-19T00:00:00+02:00", "2026-10-26T00:00:00+01:00", "2026-11-02T00:00:00+01:00"},
		},
		{
			"weeks that start on Sunday evening",
			calendar.Period{Every: calendar.Week, Starts: "sunday 18:00"},
			"2026-11-23T17:00:00Z",
			[4]string{"2026-11-15T18:00:00Z", "2026-11-22T18:00:00Z", "2026-11-29T18:00:00Z", "2026-12-06T18:00:00Z"},
		},
		{
			"months over the end of a year",
			calendar.Period{Every: calendar.Month, Zone: berlin},
			"2026-12-31T23:30:00Z",
			[4]string{"2026-12-01T00:00:00+01:00", "2027-01-01T00:00:00+01:00", "2027-02-01T00:00:00+01:00", "2027-03-01T00:00:00+01:00"},
		},
		{
			"months that start on the 31st",
			calendar.Period{Every: calendar.Month, Starts: "31"},
			"2026-03-01T00:00:00Z",
			[4]string{"2026-01-31T00:00:00Z", "2026-02-28T00:00:00Z", "2026-03-31T00:00:00Z", "2026-04-30T00:00:00Z"},
		},
		{
			"months that start on the 30th, in a leap year",
			calendar.Period{Every: calendar.Month, Starts: "30 06:00"},
			"2028-02-29T06:00:00Z",
			[4]string{"2028-01-30T06:00:00Z", "2028-02-29T06:00:00Z", "2028-03-30T06:00:00Z", "2028-04-30T06:00:00Z"},
		},
		{
			"years that start on 29 February",
			calendar.Period{Every: calendar.Year, Starts: "02-29"},
			"2028-02-28T12:00:00Z",
			[4]string{"2026-02-28T00:00:00Z", "2027-02-28T00:00:00Z", "2028-02-29T00:00:00Z", "2029-02-28T00:00:00Z"},
		},
		{
			"years that start in April",
			calendar.Period{Every: calendar.Year, Zone: "Europe/London", Starts: "04-06"},
			"2026-04-05T23:30:00Z",
			[4]string{"2025-04-06T00:00:00+01:00", "2026-04-06T00:00:00+01:00", "2027-04-06T00:00:00+01:00", "2028-04-06T00:00:00+01:00"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			at, err := time.Parse(time.RFC3339, test.at)
			if err != nil {
				t.Fatal(err)
			}
			b := mustNew(t, test.period).Around(at)
			for i, got := range []time.Time{b.Previous, b.Start, b.Next, b.After} {
				want, err := time.Parse(time.RFC3339, test.want[i])
				if err != nil {
					t.Fatal(err)
				}
				if !got.Equal(want) {
					t.Errorf("boundary %d: got %v, want %v", i, got, want.In(got.Location()))
				}
			}
			if !b.Contains(at) || b.Contains(b.Next) {
				t.Error("Contains does not say which times are in the period")
			}
		})
	}
}

func TestNew_namesWhatIsWrong(t *testing.T) {
	for _, test := range []struct {
		period calendar.Period
		want   string
	}{
		{calendar.Period{}, `every must be hour, day, week, month or year, got ""`},
		{calendar.Period{Every: "fortnight"}, `every must be hour, day, week, month or year, got "fortnight"`},
		{calendar.Period{Every: calendar.Day, Zone: "Europe/Berln"}, `zone must be a name of the IANA zone database, such as Europe/Berlin, got "Europe/Berln"`},
		{calendar.Period{Every: calendar.Day, Zone: "Local"}, `zone must be a name of the IANA zone database, such as Europe/Berlin, got "Local"`},
		{calendar.Period{Every: calendar.Day, Zone: "../etc/passwd"}, `zone must be a name of the IANA zone database, such as Europe/Berlin, got "../etc/passwd"`},
		{calendar.Period{Every: calendar.Hour, Starts: "00:30"}, `starts must be empty for hour, which starts at minute 0, got "00:30"`},
		{calendar.Period{Every: calendar.Day, Starts: "24:00"}, `starts must be HH:MM for day, got "24:00"`},
		{calendar.Period{Every: calendar.Day, Starts: "6:00"}, `starts must be HH:MM for day, got "6:00"`},
		{calendar.Period{Every: calendar.Day, Starts: "15"}, `starts must be HH:MM for day, got "15"`},
		{calendar.Period{Every: calendar.Day, Starts: " "}, `starts must be HH:MM for day, got " "`},
		{calendar.Period{Every: calendar.Week, Starts: "Montag"}, `starts must be WEEKDAY, HH:MM or both for week, for example monday 06:00, got "Montag"`},
		{calendar.Period{Every: calendar.Month, Starts: "32"}, `starts must be DAY, HH:MM or both for month, for example 15 or 15 06:00, got "32"`},
		{calendar.Period{Every: calendar.Month, Starts: "0"}, `starts must be DAY, HH:MM or both for month, for example 15 or 15 06:00, got "0"`},
		{calendar.Period{Every: calendar.Month, Starts: "15 "}, `starts must be DAY, HH:MM or both for month, for example 15 or 15 06:00, got "15 "`},
		{calendar.Period{Every: calendar.Year, Starts: "02-30"}, `starts must be MM-DD, HH:MM or both for year, for example 04-06, got "02-30"`},
	} {
		_, err := calendar.New(test.period)
		var wrong *calendar.Error
		if !errors.As(err, &wrong) || err.Error() != test.want {
			t.Errorf("New(%+v): got %v, want %s", test.period, err, test.want)
		}
	}
}
