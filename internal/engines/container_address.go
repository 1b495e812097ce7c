//go:build !nocontainers

package engines

import (
	"context"
	"errors"
	"net"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/testcontainers/testcontainers-go"
)

// listening returns the loopback address at which the server of a container listens, by its command line.
func listening(ctx context.Context, c *testcontainers.DockerContainer) (addr, version string, err error) {
	inspected, err := c.Inspect(ctx)
	if err != nil {
		return "", "", err
	}
	args := inspected.Config.Cmd
	after := func(flag string) string { return args[slices.Index(args, flag)+1] }
	o := redis.Options{Addr: net.JoinHostPort("127.0.0.1", after("--port"))}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if version, err = await(ctx, o, nil); err == nil {
		err = isOurs(ctx, o, after("--dbfilename"))
	}
	return o.Addr, version, err
}

// published finds the address at which the container answers: its published port, or, where this process is in a
// container beside it, the container's own.
func published(ctx context.Context, c *testcontainers.DockerContainer) (addr, version string, err error) {
	var candidates []string
	if port, err := c.MappedPort(ctx, "6379/tcp"); err == nil {
		host, err := c.Host(ctx)
		if err != nil {
			return "", "", err
		}
		candidates = append(candidates, net.JoinHostPort(host, port.Port()))
	}
	if ip, err := c.ContainerIP(ctx); err == nil && ip != "" {
		candidates = append(candidates, net.JoinHostPort(ip, "6379"))
	}
	var problems []error
	for _, addr := range candidates {
		patience, cancel := context.WithTimeout(ctx, 10*time.Second)
		version, err := await(patience, redis.Options{Addr: addr}, nil)
		cancel()
		if err == nil {
			return addr, version, nil
		}
		problems = append(problems, err)
	}
	return "", "", errors.Join(problems...)
}
