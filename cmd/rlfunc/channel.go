package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/loader"
)

// withChannel adds the flag that names a channel.
func (a *app) withChannel(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&a.channel, "channel", "", "work on this channel of the libraries, as canary: a second copy beside the first (default none)")
	return cmd
}

// inChannel returns the libraries as the channel has them.
func (a *app) inChannel(libs []*fcall.Library) ([]*fcall.Library, error) {
	for i, lib := range libs {
		channel, err := lib.Channel(a.channel)
		if err != nil {
			return nil, err
		}
		libs[i] = channel
	}
	return libs, nil
}

// onlyChannel leaves out what is not of the channel, if --channel names one.
func (a *app) onlyChannel(nodes []loader.NodeState) {
	if a.channel == "" {
		return
	}
	for i := range nodes {
		nodes[i].Libraries = slices.DeleteFunc(nodes[i].Libraries, func(l loader.LoadedLibrary) bool {
			return l.Name == "" || !strings.HasSuffix(l.ServerName, "_"+a.channel)
		})
	}
}
