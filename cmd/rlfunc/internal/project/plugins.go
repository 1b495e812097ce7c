package project

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/plugins"
	"github.com/rlfunc/rlfunc/codegen"
	"github.com/rlfunc/rlfunc/codegen/plugin"
)

// Folders returns the folders that hold generated files.
func (c *Config) Folders() []string {
	var out []string
	for _, folder := range []string{c.Gen, c.Python, c.TypeScript} {
		if folder != "" {
			out = append(out, folder)
		}
	}
	for _, plugin := range c.Plugins {
		out = append(out, plugin.Out)
	}
	return out
}

// runPlugin returns the files of a plugin by name. Each must be marked as generated, and may replace only files that are.
func (p *Project) runPlugin(ctx context.Context, pl Plugin, tree *codegen.Tree, stderr io.Writer) (map[string][]byte, error) {
	request := plugin.Request{Format: plugin.Format, Source: filepath.ToSlash(p.Config.Functions), Options: pl.Options}
	if request.Options == nil {
		request.Options = map[string]string{}
	}
	for _, lib := range tree.Libraries {
		request.Libraries = append(request.Libraries, plugin.Library{Library: lib.Spec, Code: codegen.Bundle(lib)})
	}
	files, err := plugins.Run(ctx, p.Dir, pl.Command, request, stderr)
	if err == nil {
		err = p.checkMarked(filepath.ToSlash(pl.Out), request.Source, files)
	}
	if err != nil {
		return nil, fmt.Errorf("run plugin %s: %w", strings.Join(pl.Command, " "), err)
	}
	return files, nil
}

func (p *Project) checkMarked(folder, source string, files map[string][]byte) error {
	root, err := os.OpenRoot(p.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for name, content := range files {
		if !generated(content) {
			return fmt.Errorf("its file %q lacks the text %q in its first two lines: without it, rlfunc cannot remove the file later", name, plugin.Marker(source))
		}
		have, err := root.ReadFile(path.Join(folder, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil && !generated(have) {
			return fmt.Errorf("its file %q would replace one that was not generated: remove %s, or give the plugin another folder", name, path.Join(folder, name))
		}
	}
	return nil
}
