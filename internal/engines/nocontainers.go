//go:build nocontainers

package engines

import (
	"context"
	"errors"
)

// make quick sets the tag: linking testcontainers takes 0.25 s of CPU time for each of 33 test programs.
var errNoContainers = errors.New("no containers in a build with -tags=nocontainers")

func inContainer(string, ...string) func(context.Context, string, []string) (*server, error) {
	return func(context.Context, string, []string) (*server, error) { return nil, errNoContainers }
}

func onHost(string) func(context.Context, string, []string) (box, error) {
	return func(context.Context, string, []string) (box, error) { return nil, errNoContainers }
}

func usable(context.Context, string) error { return errNoContainers }
