package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/loader"
)

// withLock adds the flags of commands that change a server.
func (a *app) withLock(cmd *cobra.Command, o *loader.LockOptions) *cobra.Command {
	o.Wait = 30 * time.Second
	addDuration(cmd, &o.Wait, "lock-wait", "how long to wait for another deployer to end")
	cmd.Flags().StringVar(&o.By, "by", "", "who does it, for the lock and the history: a run's address (default user@host)")
	o.OnWait = func(locked *loader.Error) {
		a.talk("waiting up to %s: %s has held the lock%s since %s", o.Wait, locked.Lock.By, onNode(locked.Node), stamp(locked.Lock.Since))
	}
	return cmd
}

// onNode is " on" and the node, or nothing for the target as a whole.
func onNode(node string) string {
	if node == "" {
		return ""
	}
	return " on " + node
}

// sure asks on a terminal whether to do it. Where nobody can be asked it says what is missing.
func (a *app) sure(question string) bool {
	if !isTerminal(a.in) {
		a.talk("nothing was changed; to do it, give --yes")
		return false
	}
	fmt.Fprintf(a.err, "%s [y/N] ", question)
	answers := make(chan string, 1)
	go func() {
		answer, _ := bufio.NewReader(a.in).ReadString('\n') // what came before an error is the answer
		answers <- answer
	}()
	answer := ""
	select {
	case answer = <-answers:
	case <-a.interrupted:
	}
	if !strings.HasSuffix(answer, "\n") {
		fmt.Fprintln(a.err)
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer == "y" || answer == "yes" {
		return true
	}
	a.talk("nothing was changed")
	return false
}

// isTerminal tells a device at which a person may sit; /dev/null is one at which nobody does.
func isTerminal(in io.Reader) bool {
	file, ok := in.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// onServer is a library's name on a server: ratelimit_v1, or in a channel ratelimit_v1_canary.
var onServer = regexp.MustCompile(`_v\d+(_\w+)?$`)

// named is a name on the server in the channel that --channel names.
func (a *app) named(word string) string {
	if a.channel == "" || strings.HasSuffix(word, "_"+a.channel) {
		return word
	}
	return word + "_" + a.channel
}

// serverName is the name of a library on the server. Of a library's plain name it is found on the nodes and in the records.
func (a *app) serverName(ctx context.Context, target *loader.Target, word string) (string, error) {
	if onServer.MatchString(word) {
		return a.named(word), nil
	}
	nodes, err := target.Check(ctx)
	if err != nil {
		return "", err
	}
	var names []string
	var unread error
	for _, node := range nodes {
		if node.Problem != nil && !node.Readable && node.Follows == "" {
			unread = node.Problem
		}
		for _, lib := range node.Libraries {
			if lib.Name == word && onServer.MatchString(lib.ServerName) && lib.Retired.IsZero() {
				names = append(names, lib.ServerName)
			}
		}
	}
	if len(names) == 0 {
		if unread != nil {
			return "", unread
		}
		releases, err := target.Releases(ctx)
		if err != nil {
			return "", err
		}
		for _, r := range releases {
			if r.Name == word && onServer.MatchString(r.Library) {
				names = append(names, r.Library)
			}
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		_, channel, _ := strings.Cut(onServer.FindString(name)[1:], "_")
		return channel != a.channel
	})
	slices.Sort(names)
	names = slices.Compact(names)
	switch len(names) {
	case 0:
		return "", fmt.Errorf("no node holds a library %s, and none is recorded (see `rlfunc status`)", word)
	case 1:
		return names[0], nil
	}
	return "", fmt.Errorf("the server has %s: which one?", strings.Join(names, " and "))
}

// stamp is a time as people read it, in UTC as servers' logs have it.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}
