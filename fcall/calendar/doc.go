// Package calendar finds the period of the calendar that a time is in: the hour, day, week, month or year, in any time zone.
//
// Quotas of library ratelimit take the boundaries of three periods, because Redis has no time zones:
//
//	month, err := calendar.New(calendar.Period{Every: calendar.Month, Zone: "Europe/Berlin"})
//	...
//	b := month.Around(time.Now())
//	r, err := client.Quota(ctx, ratelimit.QuotaParams{
//		Subject: "user=42", Limit: 100_000, Previous: b.Previous, Start: b.Start, Next: b.Next, After: b.After,
//	})
//
// A day, week, month or year starts at the first instant at which the local clock shows its start or later. A start that the clock
// skips is the instant of the skip, and one that it shows twice is the first of the two. So a day may have 23 or 25 hours, and a day that a
// zone skips does not exist. An hour starts each time that the local clock shows a full hour, so a day of 25 hours has 25 of them.
//
// Zones are those of the machine's database, or of the one in package time/tzdata if it has none.
package calendar
