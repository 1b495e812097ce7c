//go:build !nocontainers

package engines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/moby/moby/api/pkg/stdcopy"
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

// A house is the container in which the servers of an image's topologies run. It shares the machine's network, and ends with this process:
// to start a container takes a second of the processor, a process in it a twentieth.
type house struct {
	id     string
	docker *testcontainers.DockerClient
}

// houseOf returns the function that starts an image's house, once.
func houseOf(image string) func() (house, error) {
	return sync.OnceValues(func() (house, error) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		docker, err := testcontainers.NewDockerClientWithOpts(ctx)
		if err != nil {
			return house{}, err
		}
		c, err := testcontainers.Run(
			ctx, image,
			testcontainers.WithCmd(containerCommand("sleep", "infinity")...),
			ownerLabel(),
			testcontainers.WithHostConfigModifier(func(h *container.HostConfig) {
				h.AutoRemove = true
				h.NetworkMode = "host"
			}),
		)
		end := func() {
			_ = testcontainers.TerminateContainer(c, testcontainers.StopTimeout(0))
			docker.Close()
		}
		if err != nil {
			end()
			return house{}, fmt.Errorf("run %s: %w", image, err)
		}
		track(&server{end: end})
		return house{id: c.GetContainerID(), docker: docker}, nil
	})
}

// onHost starts servers in the house of the image.
func onHost(image string) func(context.Context, string, []string) (box, error) {
	start := houseOf(image)
	return func(ctx context.Context, command string, args []string) (box, error) {
		h, err := start()
		if err != nil {
			return nil, err
		}
		return h.run(ctx, command, args)
	}
}

// supervise makes the folder, which only the machine has, runs the command, sends it the signals that it reads and writes their names to
// stderr, and kills it at their end:
// when the test closes the stream, or its process has ended.
const supervise = `mkdir -p "$0"; "$@" & while read -r signal; do kill -s "$signal" $!; echo "$signal" >&2; done; kill -s KILL $!`

func (h house) run(ctx context.Context, command string, args []string) (box, error) {
	process, err := h.docker.ExecCreate(ctx, h.id, client.ExecCreateOptions{
		AttachStdin: true, AttachStdout: true, AttachStderr: true,
		Cmd: append([]string{"sh", "-c", supervise, args[slices.Index(args, "--dir")+1], command}, args...),
	})
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", command, err)
	}
	streams, err := h.docker.ExecAttach(ctx, process.ID, client.ExecAttachOptions{})
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", command, err)
	}
	t := &tenant{streams: streams.HijackedResponse, signalled: make(signals, 1), ended: make(chan struct{})}
	go func() {
		defer close(t.ended)
		_, _ = stdcopy.StdCopy(&t.output, io.MultiWriter(&t.output, t.signalled), streams.Reader)
	}()
	return t, nil
}

// tenant is a box in a house.
type tenant struct {
	streams   client.HijackedResponse
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
	_ = t.streams.CloseWrite()
	<-t.ended
	t.streams.Close()
}

func (t *tenant) pause() error  { return t.signal("STOP") }
func (t *tenant) resume() error { return t.signal("CONT") }
func (t *tenant) log() string   { return strings.TrimSpace(t.output.String()) }

func (t *tenant) signal(name string) error {
	if _, err := fmt.Fprintln(t.streams.Conn, name); err != nil {
		return err
	}
	select {
	case <-t.signalled:
		return nil
	case <-t.ended:
		return errors.New("the server has ended")
	}
}
