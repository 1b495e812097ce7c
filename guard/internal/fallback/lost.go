package fallback

import (
	"context"
	"errors"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard/internal/ask"
)

// Undecided reports whether an error says nothing of the request: Redis did not answer, or could not decide.
func Undecided(err error) bool {
	for _, kind := range []error{
		ask.ErrTimeout, ErrBreaker, ask.ErrBusy, context.DeadlineExceeded, fcall.ErrUnavailable, fcall.ErrOutcomeUnknown, fcall.ErrNotLoaded, fcall.ErrScript,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// refusals are what a server answers that decides about others all the same.
var refusals = map[string]bool{
	"OOM": true, "NOPERM": true, "NOAUTH": true, "WRONGPASS": true, "DENIED": true, "MISCONF": true, "NOREPLICAS": true, "CROSSSLOT": true, "NOSCRIPT": true,
}

// lostServer reports whether an error is that of a server that does not answer.
func lostServer(err error) bool {
	if err == nil || !Undecided(err) || errors.Is(err, fcall.ErrScript) || errors.Is(err, fcall.ErrNotLoaded) || errors.Is(err, fcall.ErrUnsupported) {
		return false
	}
	var refused *fcall.UnavailableError
	return !errors.As(err, &refused) || !refusals[refused.Code]
}
