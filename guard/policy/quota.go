package policy

import (
	"errors"

	"github.com/rlfunc/rlfunc/calendar"
)

// Calendar returns the calendar of a quota, or nil for another kind. It returns a *calendar.Error if the policy was not checked.
func (l *Limit) Calendar() (*calendar.Calendar, error) {
	if l.Kind != Quota {
		return nil, nil
	}
	return calendar.New(calendar.Period{Every: calendar.Every(l.Every), Zone: l.Zone, Starts: string(l.Starts)})
}

// checkPeriod checks that a quota has a period and no window, and that any other limit has no period.
func (l *Limit) checkPeriod(at string, found *problems) {
	if l.Kind != Quota {
		for _, only := range []struct{ key, value string }{{"every", string(l.Every)}, {"zone", l.Zone}, {"starts", string(l.Starts)}} {
			if only.value != "" {
				found.add(at+"."+only.key, "applies only to kind quota, not to %s", l.kind())
			}
		}
		return
	}
	if l.Window != 0 {
		found.add(at+".window", "must be omitted for a quota: its length is every")
	}
	if l.Every == "" {
		found.add(at+".every", "is required for a quota")
		return
	}
	var wrong *calendar.Error
	if _, err := l.Calendar(); errors.As(err, &wrong) && wrong.Field != "every" { // reported by bounds
		found.add(at+"."+wrong.Field, "must %s, got %s", wrong.Must, quote(wrong.Got))
	}
}
