package calendar

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// An Error is a Period that is not one.
type Error struct {
	Field string // every, zone or starts
	Must  string
	Got   string
}

func (e *Error) Error() string { return fmt.Sprintf("%s must %s, got %q", e.Field, e.Must, e.Got) }

// starts is where in its unit a period starts.
type starts struct {
	weekday time.Weekday
	month   time.Month
	day     int
	second  int64 // of the day
}

// in returns the start in a month, as if it were UTC. A day that the month lacks is its last one.
func (s starts) in(year int, month time.Month) time.Time {
	days := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
	return time.Date(year, month, min(s.day, days), 0, 0, int(s.second), 0, time.UTC)
}

// forms says what starts may be, by unit.
var forms = map[Every]string{
	Hour:  "be empty for hour, which starts at minute 0",
	Day:   "be HH:MM for day",
	Week:  "be WEEKDAY, HH:MM or both for week, for example monday 06:00",
	Month: "be DAY, HH:MM or both for month, for example 15 or 15 06:00",
	Year:  "be MM-DD, HH:MM or both for year, for example 04-06",
}

func parseStarts(every Every, text string) (starts, error) {
	must, ok := forms[every]
	if !ok {
		return starts{}, &Error{Field: "every", Must: "be hour, day, week, month or year", Got: string(every)}
	}
	s := starts{weekday: time.Monday, month: time.January, day: 1}
	date, clock, both := strings.Cut(text, " ")
	if !both && strings.Contains(text, ":") {
		date, clock = "", text
	}
	ok = (date == "" && !both) || s.parseDate(every, date)
	if ok && (clock != "" || both) {
		at, err := time.Parse("15:04", clock)
		s.second = int64(at.Hour()*hour + at.Minute()*60)
		ok = err == nil && len(clock) == len("15:04") && every != Hour
	}
	if !ok {
		return starts{}, &Error{Field: "starts", Must: must, Got: text}
	}
	return s, nil
}

func (s *starts) parseDate(every Every, date string) bool {
	switch every {
	case Week:
		for s.weekday = time.Sunday; s.weekday <= time.Saturday; s.weekday++ {
			if strings.ToLower(s.weekday.String()) == date {
				return true
			}
		}
	case Month:
		day, err := strconv.Atoi(date)
		s.day = day
		return err == nil && day >= 1 && day <= 31 && strconv.Itoa(day) == date
	case Year:
		at, err := time.Parse("2006-01-02", "2000-"+date) // a leap year
		s.month, s.day = at.Month(), at.Day()
		return err == nil
	}
	return false
}
