package main

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

// A composed is a container of compose.yaml.
type composed struct {
	Image string
	Build struct{ Context, Dockerfile string }
	// Volumes are source:target:ro, and Ports address:outside:inside.
	Volumes, Ports []string
	Environment    map[string]string
	DependsOn      []string `yaml:"depends_on"`
}

func readYAML[T any](t *testing.T, file string) (v T) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(text, &v)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return v
}

func containers(t *testing.T) map[string]composed {
	t.Helper()
	return readYAML[struct{ Services map[string]composed }](t, "compose.yaml").Services
}

func TestCompose_mountsAndBuildsExist(t *testing.T) {
	for name, c := range containers(t) {
		for _, volume := range c.Volumes {
			if source, _, _ := strings.Cut(volume, ":"); !there(source) {
				t.Errorf("%s mounts %s, which is not there", name, source)
			}
		}
		if c.Image == "" && !there(filepath.Join(c.Build.Context, c.Build.Dockerfile)) {
			t.Errorf("%s is built from %+v, which is not there", name, c.Build)
		}
		for _, port := range c.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s listens beyond this machine: %s", name, port)
			}
		}
		for _, other := range c.DependsOn {
			if _, ok := containers(t)[other]; !ok {
				t.Errorf("%s depends on %s, which is not there", name, other)
			}
		}
	}
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestCompose_addressesAgree(t *testing.T) {
	all := containers(t)
	listens := map[string]string{"redis": "6379"} // the images' own, but for what compose.yaml publishes
	for name, c := range all {
		for _, port := range c.Ports {
			listens[name] = port[strings.LastIndex(port, ":")+1:]
		}
	}
	text, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `"-addr", "0.0.0.0:`+listens["chat"]+`"`) {
		t.Errorf("the Dockerfile's service does not listen on %s", listens["chat"])
	}
	if !strings.Contains(string(text), `"-policy", "/etc/chat/limits.yaml"`) || !slices.Contains(all["chat"].Volumes, "./:/etc/chat:ro") {
		t.Error("the service does not follow the limits.yaml of this folder")
	}
	scraped := readYAML[struct {
		ScrapeConfigs []struct {
			StaticConfigs []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
		RuleFiles []string `yaml:"rule_files"`
	}](t, "prometheus.yml")
	sources := readYAML[struct{ Datasources []struct{ URL string } }](t, "grafana/datasources.yml")
	asked := []string{all["chat"].Environment["REDIS_URL"], "http://" + scraped.ScrapeConfigs[0].StaticConfigs[0].Targets[0], sources.Datasources[0].URL}
	for _, address := range asked {
		u, err := url.Parse(address)
		if err != nil || listens[u.Hostname()] == "" || listens[u.Hostname()] != u.Port() {
			t.Errorf("nothing listens at %s: %v", address, err)
		}
	}
	dashboards := readYAML[struct {
		Providers []struct{ Options struct{ Path string } }
	}](t, "grafana/dashboards.yml")
	for name, inside := range map[string]string{
		"prometheus": scraped.RuleFiles[0], "grafana": dashboards.Providers[0].Options.Path + "/dashboard.json",
	} {
		if !slices.ContainsFunc(all[name].Volumes, func(v string) bool { return strings.Contains(v, ":"+inside+":") }) {
			t.Errorf("%s reads %s, and nothing is mounted there", name, inside)
		}
	}
}

// Runs the tools that are installed.
func TestCompose_toolsAcceptIt(t *testing.T) {
	for _, command := range [][]string{
		{"docker-compose", "-f", "compose.yaml", "config", "-q"},
		{"promtool", "check", "config", "--syntax-only", "prometheus.yml"},
	} {
		t.Run(command[0], func(t *testing.T) {
			program := onpath.Program(t, command[0])
			if out, err := exec.CommandContext(t.Context(), program, command[1:]...).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", strings.Join(command, " "), err, out)
			}
		})
	}
}

func TestLimits_haveTheEndpointsOfTheService(t *testing.T) {
	p, err := policy.Load("limits.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"chat", "challenge", "newcomer", "models", "page"} {
		if _, ok := p.Endpoint(name); !ok {
			t.Errorf("no endpoint %s", name)
		}
	}
}
