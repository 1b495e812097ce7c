package fallback

import (
	"context"
	"errors"
	"strings"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard/internal/admit"
)

// Undecided reports whether err leaves the request undecided: Redis did not answer, or could not evaluate the call.
func Undecided(err error) bool {
	if clockOff(err) {
		return true
	}
	for _, kind := range []error{
		admit.ErrTimeout, ErrBreaker, admit.ErrBusy, context.DeadlineExceeded, fcall.ErrUnavailable, fcall.ErrOutcomeUnknown, fcall.ErrNotLoaded, fcall.ErrScript,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// clockOff reports whether Redis rejected a quota's boundaries, because the clock of this process or of Redis is wrong by more than a
// period. Guard computes the boundaries, so no other reason is left.
func clockOff(err error) bool {
	var wrong *fcall.ArgumentError
	return errors.As(err, &wrong) && strings.HasPrefix(wrong.Name, "limits.") &&
		(strings.HasSuffix(wrong.Name, ".previous") || strings.HasSuffix(wrong.Name, ".after"))
}

// liveServerCodes are errors of a server that still decides other calls.
var liveServerCodes = map[string]bool{
	"OOM": true, "NOPERM": true, "NOAUTH": true, "WRONGPASS": true, "DENIED": true, "MISCONF": true, "NOREPLICAS": true, "CROSSSLOT": true, "NOSCRIPT": true,
}

// serverLost reports whether err means that the server does not answer.
func serverLost(err error) bool {
	if err == nil || !Undecided(err) || clockOff(err) || errors.Is(err, fcall.ErrScript) || errors.Is(err, fcall.ErrNotLoaded) || errors.Is(err, fcall.ErrUnsupported) {
		return false
	}
	var refused *fcall.UnavailableError
	return !errors.As(err, &refused) || !liveServerCodes[refused.Code]
}
