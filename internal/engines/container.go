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

// houseOf returns the function that starts the container in which the servers of an image's topologies run, once, and returns its name. It
// shares the machine's network, and ends with this process: to start a container takes a second of the processor, a process in it a
// twentieth.
func houseOf(image string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		c, err := testcontainers.Run(
			ctx, image,
			testcontainers.WithCmd(containerCommand("sleep", "infinity")...),
			ownerLabel(),
			testcontainers.WithHostConfigModifier(func(h *container.HostConfig) {
				h.AutoRemove = true
				h.NetworkMode = "host"
			}),
		)
		end := func() { _ = testcontainers.TerminateContainer(c, testcontainers.StopTimeout(0)) }
		if err != nil {
			end()
			return "", fmt.Errorf("run %s: %w", image, err)
		}
		track(end)
		return c.GetContainerID(), nil
	})
}

// onHost starts servers in the house of the image.
func onHost(image string) func(context.Context, string, []string) (box, error) {
	start := houseOf(image)
	return func(_ context.Context, command string, args []string) (box, error) {
		house, err := start()
		if err != nil {
			return nil, err
		}
		return runIn(house, command, args)
	}
}

// supervise makes the folder, which only the machine has, runs the command, sends it the signals that it reads and writes their names to
// stderr, and kills it at their end: when the test closes the stream, or its process has ended.
const supervise = `mkdir -p "$0"; "$@" & while read -r signal; do kill -s "$signal" $!; echo "$signal" >&2; done; kill -s KILL $!`

func runIn(house, command string, args []string) (box, error) {
	t := &tenant{signalled: make(signals, 1), ended: make(chan struct{})}
	folder := args[slices.Index(args, "--dir")+1]
	cmd := exec.Command("docker", append([]string{"exec", "-i", house, "sh", "-c", supervise, folder, command}, args...)...)
	cmd.Stdout, cmd.Stderr = &t.output, io.MultiWriter(&t.output, t.signalled)
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", command, err)
	}
	t.in = in
	go func() {
		defer close(t.ended)
		_ = cmd.Wait()
	}()
	return t, nil
}

// tenant is a box in a house.
type tenant struct {
	in        io.WriteCloser
	output    tail
	signalled signals
	ended     chan struct{} // closed when it has ended
}

// signals has the name of a signal once it was sent.
type signals chan string

func (s signals) Write(text []byte) (int, error) {
	for line := range strings.Lines(string(text)) {
		if line == "STOP\n" || line == "CONT\n" {
			s <- strings.TrimSpace(line)
		}
	}
	return len(text), nil
}

func (t *tenant) kill() {
	_ = t.in.Close()
	<-t.ended
}

func (t *tenant) pause() error  { return t.signal("STOP") }
func (t *tenant) resume() error { return t.signal("CONT") }
func (t *tenant) log() string   { return strings.TrimSpace(t.output.String()) }

func (t *tenant) signal(name string) error {
	if _, err := fmt.Fprintln(t.in, name); err != nil {
		return err
	}
	select {
	case <-t.signalled:
		return nil
	case <-t.ended:
		return errors.New("the server has ended")
	}
}
