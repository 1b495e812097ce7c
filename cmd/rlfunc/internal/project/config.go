package project

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/rlfunc/rlfunc/internal/spelling"
)

// A Config is rlfunc.yaml.
type Config struct {
	Functions  string            `yaml:"functions"`  // folder of the annotated Lua. Defaults to functions.
	Gen        string            `yaml:"gen"`        // folder of the generated packages. Defaults to gen.
	Python     string            `yaml:"python"`     // folder of the generated Python clients. Defaults to none.
	TypeScript string            `yaml:"typescript"` // folder of the generated TypeScript clients. Defaults to none.
	Bundles    Bundles           `yaml:"bundles"`    // which folders get the code that servers load. Defaults to everywhere.
	Targets    map[string]Target `yaml:"targets"`    // servers by name, for --target. Defaults to none.
}

// Bundles says which folders get the code that servers load.
type Bundles string

const (
	// Everywhere gives it to the Python and TypeScript clients, too: each folder is complete, and can be installed as it is.
	Everywhere Bundles = "everywhere"
	// InGen writes it to gen only, so that a repository has each bundle once. Clients of folders that a flag names are complete.
	InGen Bundles = "gen"
)

// A Target is where commands with --target work. Its keys have the names and the meanings of flags.
type Target struct {
	Redis      string `yaml:"redis"`       // URL; ${NAME} stands for an environment variable
	Namespace  string `yaml:"namespace"`   // Defaults to the command's.
	Policy     string `yaml:"policy"`      // file, relative to rlfunc.yaml. Defaults to the command's.
	NoReplicas bool   `yaml:"no-replicas"` // Defaults to false.
}

// blank matches a text of comments, which yaml decodes as null.
var blank = regexp.MustCompile(`^(\s*(#.*)?(\n|$))*$`)

var targetName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)

// ParseConfig reads the text of rlfunc.yaml. Errors begin with the file's name, and have line and column where they are known.
func ParseConfig(file string, text []byte) (Config, error) {
	config := Config{Functions: "functions", Gen: "gen", Bundles: Everywhere}
	if !blank.Match(text) {
		if err := yaml.UnmarshalWithOptions(text, &config, yaml.Strict()); err != nil {
			return config, parseError(file, err)
		}
	}
	if err := config.check(false); err != nil {
		return config, fmt.Errorf("%s: %w", file, err)
	}
	return config, nil
}

func parseError(file string, err error) error {
	var y yaml.Error
	if !errors.As(err, &y) {
		return fmt.Errorf("%s: %w", file, err)
	}
	message := y.GetMessage()
	token := y.GetToken()
	if token == nil {
		return fmt.Errorf("%s: %s", file, message)
	}
	if unknown := (*yaml.UnknownFieldError)(nil); errors.As(err, &unknown) {
		if instead := gone[token.Value]; instead != "" {
			return fmt.Errorf("%s:%d:%d: the key %s went: %s", file, token.Position.Line, token.Position.Column, token.Value, instead)
		}
		keys := keysOf(reflect.TypeFor[Config]())
		if token.Position.Column > 1 {
			keys = keysOf(reflect.TypeFor[Target]())
		}
		message = fmt.Sprintf("unknown key %q%s (keys: %s)", token.Value, spelling.DidYouMean(token.Value, keys), strings.Join(keys, ", "))
	}
	return fmt.Errorf("%s:%d:%d: %s", file, token.Position.Line, token.Position.Column, message)
}

// gone are keys of earlier versions, with what to do instead.
var gone = map[string]string{
	"plugins": "remove it; a client in another language sends FCALL itself",
	"channel": "remove it; to try a version beside the current one, raise the library's major version",
}

func keysOf(t reflect.Type) []string {
	var keys []string
	for i := range t.NumField() {
		keys = append(keys, t.Field(i).Tag.Get("yaml"))
	}
	return keys
}

// check returns the first error.
func (c *Config) check(builtIn bool) error {
	folders := []struct{ key, value string }{{"functions", c.Functions}, {"gen", c.Gen}, {"python", c.Python}, {"typescript", c.TypeScript}}
	within := "the project"
	if builtIn {
		folders, within = folders[2:], "this one"
	}
	if !slices.Contains([]Bundles{"", Everywhere, InGen}, c.Bundles) {
		return fmt.Errorf("bundles must be %s or %s, got %q", Everywhere, InGen, c.Bundles)
	}
	used := map[string]string{}
	for _, folder := range folders {
		if folder.value == "" && (folder.key == "python" || folder.key == "typescript") {
			continue
		}
		if !filepath.IsLocal(folder.value) || filepath.Clean(folder.value) == "." {
			return fmt.Errorf("%s must be a folder inside %s, got %q", folder.key, within, folder.value)
		}
		clean := filepath.Clean(folder.value)
		if other := used[clean]; other != "" {
			return fmt.Errorf("%s and %s must be two folders: only the generator writes %s", other, folder.key, folder.key)
		}
		used[clean] = folder.key
	}
	for _, name := range slices.Sorted(maps.Keys(c.Targets)) {
		if !targetName.MatchString(name) {
			return fmt.Errorf("targets.%s: the name must be of a-z 0-9 _ - and begin with a letter or digit", name)
		}
		if c.Targets[name].Redis == "" {
			return fmt.Errorf("targets.%s.redis must be a URL, such as redis://127.0.0.1:6379 or ${REDIS_URL}", name)
		}
	}
	return nil
}

// expand replaces the environment variables of a URL, and returns the names of those that are not set. A value is written as its part of the
// URL requires, so that a password may have any characters. A value of everything, or of host and port, is a piece of URL already.
func expand(text string) (expanded string, missing []string) {
	authority, _, _ := strings.Cut(text, "?")
	at := strings.LastIndexByte(authority, '@')
	end := 0
	for _, found := range variable.FindAllStringSubmatchIndex(text, -1) {
		value := os.Getenv(text[found[2]:found[3]])
		switch {
		case value == "":
			missing = append(missing, text[found[2]:found[3]])
		case found[0] > len(authority):
			value = url.QueryEscape(value)
		case found[0] < at:
			value = url.User(value).String()
		}
		expanded += text[end:found[0]] + value
		end = found[1]
	}
	return expanded + text[end:], missing
}

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// Target returns a target of rlfunc.yaml with its environment variables replaced, and the policy's file relative to this process.
func (p *Project) Target(name string) (Target, error) {
	t, ok := p.Config.Targets[name]
	if !ok {
		names := slices.Sorted(maps.Keys(p.Config.Targets))
		return t, fmt.Errorf("%s has no target %q%s (targets: %s)", filepath.Join(p.Dir, ConfigFile), name, spelling.DidYouMean(name, names), cmp.Or(strings.Join(names, ", "), "none"))
	}
	var missing []string
	t.Redis, missing = expand(t.Redis)
	if len(missing) > 0 {
		return t, fmt.Errorf("targets.%s.redis of %s: set the environment variable %s", name, filepath.Join(p.Dir, ConfigFile), strings.Join(missing, " and "))
	}
	if t.Policy != "" && !filepath.IsAbs(t.Policy) {
		t.Policy = filepath.Join(p.Dir, t.Policy)
	}
	return t, nil
}
