package engines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"
)

// docker is the Docker engine of this machine itself, so that its containers can share the machine's network: a published port would pass each
// byte through a process of Docker, which takes as long as the server. Topologies need the program docker as well.
var docker = sync.OnceValues(func() (*testcontainers.DockerClient, error) {
	os.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true") // its image is one that not every machine can pull
	log.SetDefault(log.NewNoopLogger())
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	engine, err := testcontainers.NewDockerClientWithOpts(ctx)
	if _, missing := exec.LookPath("docker"); missing != nil || err != nil {
		return nil, errors.New("no Docker engine answers")
	}
	info, err := engine.Info(ctx, client.InfoOptions{})
	if err != nil {
		return nil, err
	}
	// A virtual machine of Docker, and a container that has its host's socket, have names of their own.
	if name, err := os.Hostname(); err != nil || info.Info.Name != name {
		return nil, errors.New("the Docker engine is not on this machine itself, so containers cannot share its network")
	}
	return engine, nil
})

// localImage returns the first of the images that is on this machine. Tests never pull one: that takes from a second to forever.
func localImage(ctx context.Context, images ...string) (string, error) {
	engine, err := docker()
	if err != nil {
		return "", err
	}
	for _, image := range images {
		if _, err := engine.ImageInspect(ctx, image); err == nil {
			return image, nil
		}
	}
	return "", fmt.Errorf("image %s is not on this machine; make images puts it there", images[0])
}

// startContainer runs a command in a container that shares the machine's network, or finds the one of that name. It ends itself after two
// hours, as a test process that was killed could not do it. From coreutils 9.10 on timeout refuses to be a container's first process, so a
// shell is. The label names the owner of the pool, who removes what a killed process leaves.
func startContainer(ctx context.Context, image, name string, command ...string) (*testcontainers.DockerContainer, error) {
	options := []testcontainers.ContainerCustomizer{
		testcontainers.WithCmd(append([]string{"sh", "-c", `timeout 7200 "$@"; exit`, "sh"}, command...)...),
		testcontainers.WithLabels(map[string]string{"rlfunc.engines": os.Getenv("RLFUNC_ENGINE_POOL")}),
		testcontainers.WithHostConfigModifier(func(h *container.HostConfig) { h.NetworkMode, h.AutoRemove = "host", true }),
	}
	if name != "" {
		options = append(options, testcontainers.WithReuseByName(name))
	}
	c, err := testcontainers.Run(ctx, image, options...)
	if err != nil {
		removeContainer(c)
	}
	return c, err
}

func removeContainer(c *testcontainers.DockerContainer) {
	_ = testcontainers.TerminateContainer(c, testcontainers.StopTimeout(0))
}

// inContainer starts the first of the images that is on this machine. With a name it returns the server of the container of that name, if
// one runs.
func inContainer(program string, images ...string) func(ctx context.Context, name string, args []string) (*server, error) {
	return func(ctx context.Context, name string, args []string) (srv *server, err error) {
		ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
		defer cancel()
		image, err := localImage(ctx, images...)
		if err != nil {
			return nil, err
		}
		for range 3 { // another process may take the port first
			if srv, err = runServer(ctx, image, name, program, args); err == nil {
				return srv, nil
			}
		}
		return nil, fmt.Errorf("run %s: %w", image, err)
	}
}

func runServer(ctx context.Context, image, name, program string, args []string) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	c, err := startContainer(ctx, image, name, append([]string{
		program, "--protected-mode", "no", "--save", "", "--appendonly", "no", "--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dbfilename", dataFile(port),
	}, args...)...)
	if err != nil {
		return nil, err
	}
	s := &server{how: "container " + image, end: func() { removeContainer(c) }, log: func() string { return containerLog(c) }}
	if err := s.find(ctx, c); err != nil {
		err = fmt.Errorf("%w: %s", err, s.log())
		s.end()
		return nil, err
	}
	return s, nil
}

// find notes where the server of the container listens: on the port of its own command, which is another's if the container was there.
func (s *server) find(ctx context.Context, c *testcontainers.DockerContainer) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	inspected, err := c.Inspect(ctx)
	if err != nil {
		return err
	}
	command := inspected.Config.Cmd
	after := func(flag string) string { return command[slices.Index(command, flag)+1] }
	s.options.Addr = net.JoinHostPort("127.0.0.1", after("--port"))
	s.url = "redis://" + s.options.Addr + "/0"
	if s.version, err = await(ctx, s.options, nil); err != nil {
		return err
	}
	return isOurs(ctx, s.options, after("--dbfilename"))
}

func containerLog(c *testcontainers.DockerContainer) string {
	r, err := c.Logs(context.Background())
	if err != nil {
		return err.Error()
	}
	defer r.Close()
	text, _ := io.ReadAll(r)
	return string(text)
}

// onHost starts servers of an image's topologies in one container, which ends with this process: to start a container takes a second of the
// processor, a process in it a twentieth.
func onHost(image string) func(context.Context, string, []string) (box, error) {
	start := sync.OnceValues(func() (string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		c, err := startContainer(ctx, image, "", "sleep", "infinity")
		if err != nil {
			return "", err
		}
		track(func() { removeContainer(c) })
		return c.GetContainerID(), nil
	})
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
