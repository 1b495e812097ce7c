//go:build !nocontainers

package engines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"github.com/moby/moby/api/types/container"
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
