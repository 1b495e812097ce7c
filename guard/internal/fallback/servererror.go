package fallback

import (
	"context"
	"errors"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard/internal/admit"
)

// Undecided reports whether err leaves the request undecided: Redis did not answer, or could not evaluate the call.
func Undecided(err error) bool {
	for _, kind := range []error{
		admit.ErrTimeout, ErrBreaker, admit.ErrBusy, context.DeadlineExceeded, fcall.ErrUnavailable, fcall.ErrOutcomeUnknown, fcall.ErrNotLoaded, fcall.ErrScript,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// liveServerCodes are errors of a server that still decides other calls.
var liveServerCodes = map[string]bool{
	"OOM": true, "NOPERM": true, "NOAUTH": true, "WRONGPASS": true, "DENIED": true, "MISCONF": true, "NOREPLICAS": true, "CROSSSLOT": true, "NOSCRIPT": true,
}

// serverLost reports whether err means that the server does not answer.
func serverLost(err error) bool {
	if err == nil || !Undecided(err) || errors.Is(err, fcall.ErrScript) || errors.Is(err, fcall.ErrNotLoaded) || errors.Is(err, fcall.ErrUnsupported) {
		return false
	}
	var refused *fcall.UnavailableError
	return !errors.As(err, &refused) || !liveServerCodes[refused.Code]
}
