//go:build !nocontainers

package engines

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

func usable(ctx context.Context, image string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("docker: %v", p)
		}
	}()
	if prepareDocker() != thisMachine {
		return errors.New("containers cannot share this process's network")
	}
	_, err = localImage(ctx, []string{image})
	return err
}

// onHost starts a server in a container that shares the machine's network.
func onHost(image string) func(context.Context, string, []string) (box, error) {
	return func(ctx context.Context, command string, args []string) (box, error) {
		args = slices.Clone(args)
		args[slices.Index(args, "--dir")+1] = "/tmp" // the machine's folders are not there
		c, err := testcontainers.Run(
			ctx, image,
			testcontainers.WithCmd(containerCommand(command, args...)...),
			ownerLabel(),
			testcontainers.WithHostConfigModifier(func(h *container.HostConfig) {
				h.AutoRemove = true
				h.NetworkMode = "host"
			}),
		)
		if err != nil {
			_ = testcontainers.TerminateContainer(c, testcontainers.StopTimeout(0))
			return nil, fmt.Errorf("run %s: %w", image, err)
		}
		return hostContainer{c}, nil
	}
}

// hostContainer is a box that is gone once it is killed.
type hostContainer struct {
	c *testcontainers.DockerContainer
}

func (h hostContainer) kill() {
	_ = testcontainers.TerminateContainer(h.c, testcontainers.StopTimeout(0))
}

func (h hostContainer) log() string { return strings.TrimSpace(containerLog(h.c)) }

func (h hostContainer) pause() error {
	return h.docker(func(ctx context.Context, d *testcontainers.DockerClient) error {
		_, err := d.ContainerPause(ctx, h.c.GetContainerID(), client.ContainerPauseOptions{})
		return err
	})
}

func (h hostContainer) resume() error {
	return h.docker(func(ctx context.Context, d *testcontainers.DockerClient) error {
		_, err := d.ContainerUnpause(ctx, h.c.GetContainerID(), client.ContainerUnpauseOptions{})
		return err
	})
}

func (h hostContainer) docker(f func(context.Context, *testcontainers.DockerClient) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	d, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	return f(ctx, d)
}
