package inspect

import (
	"fmt"
	"time"
)

// Words formats a duration with its two largest units, rounded up: "5 s", "4 min 58 s", "2 h 3 min", "30 d".
func Words(d time.Duration) string {
	seconds := int64((d + time.Second - 1) / time.Second)
	switch {
	case d <= 0:
		return "0 s"
	case d < time.Second:
		return fmt.Sprintf("%d ms", (d+time.Millisecond-1)/time.Millisecond)
	case seconds < 60:
		return fmt.Sprintf("%d s", seconds)
	case seconds < 3600:
		return two(seconds, 60, "min", 1, "s")
	case seconds < 86400:
		return two((seconds+59)/60*60, 3600, "h", 60, "min")
	}
	return two((seconds+3599)/3600*3600, 86400, "d", 3600, "h")
}

func two(seconds, large int64, largeName string, small int64, smallName string) string {
	text := fmt.Sprintf("%d %s", seconds/large, largeName)
	if rest := seconds % large / small; rest > 0 {
		text += fmt.Sprintf(" %d %s", rest, smallName)
	}
	return text
}

// When formats a time in UTC, with the date if that is not the date of now.
func When(at, now time.Time) string {
	at, now = at.UTC(), now.UTC()
	if at.YearDay() == now.YearDay() && at.Year() == now.Year() {
		return at.Format("15:04:05")
	}
	return at.Format("2006-01-02 15:04:05")
}
