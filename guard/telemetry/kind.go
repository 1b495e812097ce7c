package telemetry

import (
	"context"
	"errors"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard"
)

const otherKind = "other"

// kinds are the values of error.type. An error that matches several has the first.
var kinds = []struct {
	is   error
	name string
}{
	{guard.ErrEndpoint, "endpoint"},
	{guard.ErrBreaker, "breaker"},
	{guard.ErrTimeout, "timeout"},
	{guard.ErrBusy, "busy"},
	{fcall.ErrNotLoaded, "not_loaded"},
	{fcall.ErrUnsupported, "unsupported"},
	{fcall.ErrNoPermission, "no_permission"},
	{fcall.ErrUnavailable, "unavailable"},
	{fcall.ErrArgument, "argument"},
	{fcall.ErrState, "state"},
	{fcall.ErrReply, "reply"},
	{fcall.ErrScript, "script"},
	{fcall.ErrOutcomeUnknown, "outcome_unknown"},
	{context.Canceled, "canceled"},
	{context.DeadlineExceeded, "deadline"},
}

func kindOf(err error) string {
	for i := range kinds {
		if errors.Is(err, kinds[i].is) {
			return kinds[i].name
		}
	}
	return otherKind
}
