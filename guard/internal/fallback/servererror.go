package fallback

import (
	"errors"
	"strings"

	"github.com/rlfunc/rlfunc/fcall"
)

// Undecided reports whether err leaves the request undecided: Redis did not answer, could not evaluate the call, or its answer is
// unreadable. It does so for every error but those of an argument or a key, which the caller or an operator must correct.
func Undecided(err error) bool {
	return err != nil && (clockOff(err) || !errors.Is(err, fcall.ErrArgument) && !errors.Is(err, fcall.ErrState))
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
	if !Undecided(err) || clockOff(err) {
		return false
	}
	for _, answered := range []error{fcall.ErrScript, fcall.ErrReply, fcall.ErrNotLoaded, fcall.ErrUnsupported} {
		if errors.Is(err, answered) {
			return false
		}
	}
	var refused *fcall.UnavailableError
	return !errors.As(err, &refused) || !liveServerCodes[refused.Code]
}
