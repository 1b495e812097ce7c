package policy

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

var errDuration = errors.New("must be a duration such as 90s, 1m30s or 30d")

// parseDuration reads Go's syntax, or whole days such as 30d.
func parseDuration(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseInt(days, 10, 64)
		if err != nil || !isDigits(days) || n > math.MaxInt64/int64(day) {
			return 0, errDuration
		}
		return time.Duration(n) * day, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, errDuration
	}
	return d, nil
}

// FormatDuration returns a duration as policies write it: 1m30s, or whole days such as 30d.
func FormatDuration(d time.Duration) string {
	if d >= day && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	text := d.String()
	for _, zero := range []struct{ end, short string }{{"m0s", "m"}, {"h0m", "h"}} {
		if strings.HasSuffix(text, zero.end) {
			text = strings.TrimSuffix(text, zero.end) + zero.short
		}
	}
	return text
}
