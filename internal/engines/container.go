//go:build !nocontainers

package engines

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/redis/go-redis/v9"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"
)

// containerCommand runs a server that ends itself after two hours: a test process that was killed could not do it, and the reaper of
// testcontainers needs an image of its own, which not every machine can pull. From coreutils 9.10 on timeout refuses to be a container's
// first process, so a shell is.
func containerCommand(program string, args ...string) []string {
	return append([]string{"sh", "-c", `timeout 7200 "$@"; exit`, "sh", program}, args...)
}

// inContainer starts the first of the images that is on this machine. With a name it returns the server of the container of that name, if
// one runs.
func inContainer(program string, images ...string) func(ctx context.Context, name string, args []string) (*server, error) {
	return func(ctx context.Context, name string, args []string) (srv *server, err error) {
		// testcontainers panics on some machines that have no Docker.
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("docker: %v", p)
			}
		}()
		where := prepareDocker()
		ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
		defer cancel()
		image, err := localImage(ctx, images)
		if err != nil {
			return nil, err
		}
		args = append([]string{"--protected-mode", "no", "--save", "", "--appendonly", "no"}, args...)
		for range 3 { // another process may take the port first
			if srv, err = runServer(ctx, where, image, name, program, args); err == nil {
				return srv, nil
			}
		}
		return nil, fmt.Errorf("run %s: %w", image, err)
	}
}

// ownerLabel names the owner of the pool, who removes what a killed process leaves.
func ownerLabel() testcontainers.CustomizeRequestOption {
	return testcontainers.WithLabels(map[string]string{"rlfunc.engines": os.Getenv("RLFUNC_ENGINE_POOL")})
}

func runServer(ctx context.Context, where dockerHost, image, name, program string, args []string) (*server, error) {
	options := []testcontainers.ContainerCustomizer{ownerLabel()}
	if name != "" {
		options = append(options, testcontainers.WithReuseByName(name))
	}
	if where == thisMachine {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		args = append(slices.Clone(args), "--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dbfilename", dataFile(port))
	} else {
		options = append(options, testcontainers.WithExposedPorts("6379/tcp"))
	}
	c, err := testcontainers.Run(ctx, image, append(options,
		testcontainers.WithCmd(containerCommand(program, args...)...),
		testcontainers.WithHostConfigModifier(func(h *container.HostConfig) {
			h.AutoRemove = true
			switch where {
			case thisMachine:
				// A published port would pass each byte through a process of Docker, which takes as long as the server.
				h.NetworkMode = "host"
			case besideThis:
				// The server has no password: it is for this machine only.
				port := network.MustParsePort("6379/tcp")
				h.PortBindings = network.PortMap{port: {{HostIP: netip.MustParseAddr("127.0.0.1")}}}
			}
		}),
	)...)
	end := func() {
		// The context of the test that started it may be over.
		_ = testcontainers.TerminateContainer(c, testcontainers.StopTimeout(0))
	}
	if err != nil {
		end()
		return nil, err
	}
	find := published
	if where == thisMachine {
		find = listening
	}
	addr, version, err := find(ctx, c)
	if err != nil {
		text := containerLog(c)
		end()
		return nil, fmt.Errorf("%w: %s", err, text)
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

// A dockerHost is where the Docker engine runs.
type dockerHost int

const (
	thisMachine dockerHost = iota // its containers can share this process's network
	besideThis                    // in a virtual machine, or outside of the container of this process
	elsewhere
)

// prepareDocker sets up testcontainers, once for the process, and returns where the Docker engine runs.
var prepareDocker = sync.OnceValue(func() dockerHost {
	setDefault("TESTCONTAINERS_RYUK_DISABLED", "true")
	tclog.SetDefault(tclog.NewNoopLogger())
	if strings.HasPrefix(os.Getenv("DOCKER_HOST"), "tcp://") {
		return elsewhere
	}
	setDefault("TESTCONTAINERS_HOST_OVERRIDE", "127.0.0.1")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	// A virtual machine of Docker, and a container that has its host's socket, have names of their own.
	engine, err := exec.CommandContext(ctx, "docker", "info", "--format", "{{.Name}}").Output()
	if name, unnamed := os.Hostname(); err != nil || unnamed != nil || strings.TrimSpace(string(engine)) != name {
		return besideThis
	}
	return thisMachine
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
	for _, image := range images {
		if _, err := docker.ImageInspect(ctx, image); err == nil {
			return image, nil
		}
	}
	return "", fmt.Errorf("image %s is not on this machine; make images puts it there", images[0])
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
