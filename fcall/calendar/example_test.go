package calendar_test

import (
	"fmt"
	"time"

	"github.com/rlfunc/rlfunc/fcall/calendar"
)

func Example() {
	month, err := calendar.New(calendar.Period{Every: calendar.Month, Zone: "Europe/Berlin", Starts: "31"})
	if err != nil {
		panic(err)
	}
	b := month.Around(time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC))
	fmt.Println(b.Start)
	fmt.Println(b.Next)
	// Output:
	// 2026-02-28 00:00:00 +0100 CET
	// 2026-03-31 00:00:00 +0200 CEST
}
