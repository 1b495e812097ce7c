//go:build nocontainers

package engines

import (
	"context"
	"errors"
)

// .ci/test sets the tag where no container is wanted: linking testcontainers takes 0.25 s of CPU time for each of 33 test programs.
var errNoContainers = errors.New("make test-all runs on it, in a container")

func inContainer(string, ...string) func(context.Context, string, []string) (*server, error) {
	return func(context.Context, string, []string) (*server, error) { return nil, errNoContainers }
}

func onHost(string) func(context.Context, string, []string) (box, error) {
	return func(context.Context, string, []string) (box, error) { return nil, errNoContainers }
}

func usable(context.Context, string) error { return errNoContainers }
