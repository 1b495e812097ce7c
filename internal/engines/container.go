//go:build !nocontainers

package engines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/redis/go-redis/v9"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"
)

// containerCommand runs a server that ends itself after half an hour: a test process that was killed could not do it, and the reaper of
// testcontainers needs an image of its own, which not every machine can pull. From coreutils 9.10 on timeout refuses to be a container's
// first process, so a shell is.
func containerCommand(program string, args ...string) []string {
	return append([]string{"sh", "-c", `timeout 1800 "$@"; exit`, "sh", program}, args...)
}

// inContainer starts the first of the images that is on this machine.
func inContainer(program string, images ...string) func(context.Context, []string) (*server, error) {
	return func(ctx context.Context, args []string) (srv *server, err error) {
		// testcontainers panics on some machines that have no Docker.
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("docker: %v", p)
			}
		}()
		remote := prepareDocker()
		ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
		defer cancel()
		image, err := localImage(ctx, images)
		if err != nil {
			return nil, err
		}
		args = append([]string{"--protected-mode", "no", "--save", "", "--appendonly", "no"}, args...)
		c, err := testcontainers.Run(
			ctx, image,
			testcontainers.WithCmd(containerCommand(program, args...)...),
			testcontainers.WithExposedPorts("6379/tcp"),
			testcontainers.WithLabels(map[string]string{"rlfunc.engines": os.Getenv("RLFUNC_ENGINE_REPORT")}),
			testcontainers.WithHostConfigModifier(func(h *container.HostConfig) {
				h.AutoRemove = true
				if !remote {
					// The server has no password: it is for this machine only.
					port := network.MustParsePort("6379/tcp")
					h.PortBindings = network.PortMap{port: {{HostIP: netip.MustParseAddr("127.0.0.1")}}}
				}
			}),
		)
		end := func() {
			// The context of the test that started it may be over.
			_ = testcontainers.TerminateContainer(c, testcontainers.StopTimeout(0))
		}
		if err != nil {
			end()
			return nil, fmt.Errorf("run %s: %w", image, err)
		}
		addr, version, err := answering(ctx, c)
		if err != nil {
			text := containerLog(c)
			end()
			return nil, fmt.Errorf("run %s: %w: %s", image, err, text)
		}
		return &server{
			version: version,
			how:     "container " + image,
			url:     "redis://" + addr + "/0",
			options: redis.Options{Addr: addr},
			end:     end,
			log:     func() string { return containerLog(c) },
		}, nil
	}
}

// prepareDocker sets up testcontainers, once for the process, and reports whether the Docker engine is on another machine.
var prepareDocker = sync.OnceValue(func() (remote bool) {
	remote = strings.HasPrefix(os.Getenv("DOCKER_HOST"), "tcp://")
	setDefault("TESTCONTAINERS_RYUK_DISABLED", "true")
	if !remote {
		setDefault("TESTCONTAINERS_HOST_OVERRIDE", "127.0.0.1")
	}
	tclog.SetDefault(tclog.NewNoopLogger())
	return remote
})

// localImage returns the first image that needs no pull. A test does not pull: that takes from a second to forever.
func localImage(ctx context.Context, images []string) (string, error) {
	docker, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		// The first line of several says it; the others are about places where Docker is not, either.
		line, _, _ := strings.Cut(err.Error(), "\n")
		return "", fmt.Errorf("no Docker engine answers: %s", line[strings.LastIndex(line, ": ")+1:])
	}
	defer docker.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := docker.Ping(ctx, client.PingOptions{}); err != nil {
		return "", fmt.Errorf("no Docker engine answers: %w", err)
	}
	for _, image := range images {
		if _, err := docker.ImageInspect(ctx, image); err == nil {
			return image, nil
		}
	}
	return "", fmt.Errorf("image %s is not on this machine; make images puts it there", images[0])
}

// answering finds the address at which the container answers: its published port, or, where this process is in a
// container beside it, the container's own.
func answering(ctx context.Context, c *testcontainers.DockerContainer) (addr, version string, err error) {
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

func containerLog(c *testcontainers.DockerContainer) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	r, err := c.Logs(ctx)
	if err != nil {
		return err.Error()
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func setDefault(variable, value string) {
	if _, set := os.LookupEnv(variable); !set {
		os.Setenv(variable, value)
	}
}
