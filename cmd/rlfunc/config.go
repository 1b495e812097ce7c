package main

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/connection"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/project"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/usage"
)

func (a *app) configCommand() *cobra.Command {
	return group("config", "Check rlfunc.yaml, and print its JSON Schema",
		&cobra.Command{
			Use:   "check",
			Short: "Check rlfunc.yaml and list its targets",
			Long: `Reads the project's rlfunc.yaml, replaces the environment variables of its targets, and lists the targets without
passwords. It connects to no server.`,
			Example: "  rlfunc config check",
			Args:    usage.None,
			RunE:    func(*cobra.Command, []string) error { return a.checkConfig() },
		},
		&cobra.Command{
			Use:     "schema",
			Short:   "Print the JSON Schema of rlfunc.yaml, for editors",
			Example: "  rlfunc config schema >rlfunc.schema.json",
			Args:    usage.None,
			RunE: func(*cobra.Command, []string) error {
				_, err := a.out.Write(project.Schema)
				return err
			},
		})
}

func (a *app) checkConfig() error {
	p, err := project.Find(a.dir)
	if err != nil {
		return err
	}
	type target struct {
		Name  string `json:"name"`
		Redis string `json:"redis"` // without a password
	}
	targets, problems := []target{}, []error{}
	for _, name := range slices.Sorted(maps.Keys(p.Config.Targets)) {
		t, err := p.Target(name)
		if err == nil {
			var conn *connection.Conn
			if conn, err = connection.Open(t.Redis); err == nil {
				targets = append(targets, target{name, conn.Name})
				conn.Close()
			} else {
				err = fmt.Errorf("targets.%s.redis: %w", name, err)
			}
		}
		problems = append(problems, err)
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	file := filepath.Join(p.Dir, project.ConfigFile)
	if a.json {
		return a.printJSON(map[string]any{"file": file, "functions": p.Config.Functions, "gen": p.Config.Gen, "targets": targets})
	}
	a.note("%s is valid", file)
	var rows [][]string
	for _, t := range targets {
		rows = append(rows, []string{t.Name, t.Redis})
	}
	return a.table([]string{"target", "servers"}, rows)
}
