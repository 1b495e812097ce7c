package deploy_test

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

func TestKubernetes_objectsFitTogether(t *testing.T) {
	c := readManifests(t)
	if diff := cmp.Diff(map[string]string{
		"ConfigMap": "v1", "Job": "batch/v1", "Deployment": "apps/v1", "Service": "v1",
		"PodDisruptionBudget": "policy/v1", "HorizontalPodAutoscaler": "autoscaling/v2", "NetworkPolicy": "networking.k8s.io/v1",
	}, c.versions); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	pod := c.serve.Spec.Template
	own := pod.Metadata.Labels
	for name, selected := range map[string]map[string]string{
		"Deployment": c.serve.Spec.Selector.MatchLabels, "Service": c.service.Spec.Selector, "PodDisruptionBudget": c.budget.Spec.Selector.MatchLabels,
		"NetworkPolicy": c.network.Spec.PodSelector.MatchLabels, "spread": pod.Spec.TopologySpreadConstraints[0].LabelSelector.MatchLabels,
	} {
		if !maps.Equal(selected, own) {
			t.Errorf("%s selects %v, and pods have %v", name, selected, own)
		}
	}
	if maps.Equal(c.job.Spec.Template.Metadata.Labels, own) {
		t.Error("the Job's pods are selected like those of the Deployment")
	}
	if ref := c.scaler.Spec.ScaleTargetRef; ref.Kind != "Deployment" || ref.Name != c.serve.Metadata.Name || c.scaler.Spec.MinReplicas < 2 {
		t.Errorf("the autoscaler scales %+v from %d", ref, c.scaler.Spec.MinReplicas)
	}
	if pod.Spec.Volumes[0].ConfigMap.Name != c.policy.Metadata.Name {
		t.Error("the policy is not mounted")
	}
	serve := pod.Spec.Containers[0]
	ports := map[string]string{}
	for _, p := range serve.Ports {
		ports[p.Name] = strconv.Itoa(p.ContainerPort)
		if got := flagOf(serve.Args, "--"+p.Name); got != ":"+ports[p.Name] {
			t.Errorf("--%s is %q, and the container's port %s", p.Name, got, ports[p.Name])
		}
	}
	for _, p := range c.service.Spec.Ports {
		if ports[p.TargetPort] != strconv.Itoa(p.Port) {
			t.Errorf("the service's port %+v", p)
		}
	}
	for _, p := range []probe{serve.LivenessProbe, serve.ReadinessProbe} {
		if p.HTTPGet.Port != "health" {
			t.Errorf("the probe %s asks the port %s, which clients can fill", p.HTTPGet.Path, p.HTTPGet.Port)
		}
	}
	drain, grace := 0*time.Second, time.Duration(pod.Spec.TerminationGracePeriodSeconds)*time.Second
	for _, flag := range []string{"--drain-delay", "--drain"} {
		d, err := time.ParseDuration(flagOf(serve.Args, flag))
		if err != nil {
			t.Error(err)
		}
		drain += d
	}
	if grace <= drain {
		t.Errorf("the pod is killed after %v, and drains for %v", grace, drain)
	}
	for _, p := range []podTemplate{pod, c.job.Spec.Template} {
		s, one := p.Spec.SecurityContext, p.Spec.Containers[0].SecurityContext
		if !s.RunAsNonRoot || s.RunAsUser != 65532 || s.SeccompProfile.Type != "RuntimeDefault" || *p.Spec.AutomountServiceAccountToken ||
			*one.AllowPrivilegeEscalation || !one.ReadOnlyRootFilesystem || !slices.Equal(one.Capabilities.Drop, []string{"ALL"}) {
			t.Errorf("a container has more rights than it needs: %+v %+v", s, one)
		}
		if p.Spec.Containers[0].Resources.Limits["memory"] == "" {
			t.Error("a container has no memory limit")
		}
	}
}

// flagOf returns the value of a flag in arguments, or "".
func flagOf(args []string, flag string) string {
	if i := slices.Index(args, flag); i >= 0 && i+1 < len(args) {
		return args[i+1]
	}
	return ""
}

type composed struct {
	Services map[string]struct {
		Image, Restart string
		Command        []string
		Volumes, Ports []string
		DependsOn      any      `yaml:"depends_on"`
		ReadOnly       bool     `yaml:"read_only"`
		CapDrop        []string `yaml:"cap_drop"`
		SecurityOpt    []string `yaml:"security_opt"`
		GracePeriod    string   `yaml:"stop_grace_period"`
	}
	Volumes map[string]struct{}
}

func readFile(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The files use flags that rlfunc has, and their policies are valid.
func TestServe_filesFitTheCommand(t *testing.T) {
	program := buildProgram(t)
	var compose composed
	if err := yaml.NewDecoder(bytes.NewReader([]byte(readFile(t, "serve/compose.yaml"))), yaml.Strict()).Decode(&compose); err != nil {
		t.Fatal(err)
	}
	unit := readFile(t, "serve/rlfunc-serve.service")
	start := regexp.MustCompile(`(?m)^ExecStart=/usr/bin/rlfunc (.*)$`).FindStringSubmatch(unit)
	if start == nil {
		t.Fatal("the unit has no ExecStart")
	}
	for _, line := range []string{"ExecReload=/bin/kill -HUP $MAINPID", "RuntimeDirectory=rlfunc", "RestartPreventExitStatus=4"} { // what docs/serve.md promises
		if !strings.Contains(unit, "\n"+line+"\n") {
			t.Errorf("the unit has no %s", line)
		}
	}
	c := readManifests(t)
	for _, command := range [][]string{
		compose.Services["serve"].Command, compose.Services["libraries"].Command, strings.Fields(start[1]),
		c.serve.Spec.Template.Spec.Containers[0].Args, c.job.Spec.Template.Spec.Containers[0].Args,
	} {
		help, err := exec.CommandContext(t.Context(), program, command[0], "--help").Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, arg := range command[1:] {
			if strings.HasPrefix(arg, "--") && !regexp.MustCompile(`(?m)^ +(-\w, )?`+regexp.QuoteMeta(arg)+` `).Match(help) {
				t.Errorf("rlfunc %s has no flag %s", command[0], arg)
			}
		}
	}
	for name, text := range map[string]string{"limits.yaml": readFile(t, "serve/limits.yaml"), "ConfigMap": c.policy.Data["limits.yaml"]} {
		if _, err := policy.Parse(name, []byte(text)); err != nil {
			t.Error(err)
		}
	}
	// The compose file's policy trusts other containers, and the host, whose requests come from the bridge's address.
	if !strings.Contains(readFile(t, "serve/limits.yaml"), "172.16.0.0/12") {
		t.Error("limits.yaml does not trust Docker's bridge networks")
	}
	if out, err := exec.CommandContext(t.Context(), onpath.Program(t, "docker-compose"), "-f", "serve/compose.yaml", "config", "-q").CombinedOutput(); err != nil {
		t.Errorf("docker-compose: %v\n%s", err, out)
	}
	own := filepath.Join(t.TempDir(), "rlfunc-serve.service")
	if err := os.WriteFile(own, []byte(strings.ReplaceAll(unit, "/usr/bin/rlfunc", program)), 0o600); err != nil {
		t.Fatal(err)
	}
	analyze := onpath.Program(t, "systemd-analyze")
	for _, args := range [][]string{{"verify", own}, {"security", "--offline=true", "--threshold=20", own}} {
		if out, err := exec.CommandContext(t.Context(), analyze, args...).CombinedOutput(); err != nil {
			t.Errorf("systemd-analyze %s: %v\n%s", args[0], err, out)
		}
	}
}

// folder has what all tests of this package share.
var folder string

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "deploy"); err != nil {
		panic(err)
	}
	code := engines.Wrap(m).Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

var build = sync.OnceValues(func() ([]byte, error) {
	onpath.Used()                                                                       // what it reads is not part of this program
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", folder, "../cmd/rlfunc") // linked as in a release, which takes less time
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	return cmd.CombinedOutput()
})

// buildProgram returns a static rlfunc.
func buildProgram(t *testing.T) string {
	t.Helper()
	if out, err := build(); err != nil {
		t.Fatalf("build rlfunc: %v: %s", err, out)
	}
	return filepath.Join(folder, "rlfunc")
}

// The Job loads the libraries into a real server; the Deployment's container answers its probes and stops in time.
func TestKubernetes_containersRun(t *testing.T) {
	c := readManifests(t)
	redis := engines.OnPath(t).Start(t)
	t.Setenv("REDIS_URL", "redis://"+redis.Addr)
	program := buildProgram(t)
	if out, err := exec.CommandContext(t.Context(), program, c.job.Spec.Template.Spec.Containers[0].Args...).CombinedOutput(); err != nil {
		t.Fatalf("the Job: %v\n%s", err, out)
	}
	if list, err := redis.Client(t).FunctionList(t.Context(), redisQuery).Result(); err != nil || len(list) == 0 {
		t.Errorf("the Job loaded %d libraries: %v", len(list), err)
	}
	limits := filepath.Join(t.TempDir(), "limits.yaml")
	if err := os.WriteFile(limits, []byte(c.policy.Data["limits.yaml"]), 0o600); err != nil {
		t.Fatal(err)
	}
	serve := c.serve.Spec.Template.Spec.Containers[0]
	health := engines.FreeAddr(t)
	args := slices.Clone(serve.Args)
	for i, arg := range args {
		switch arg {
		case "/etc/rlfunc/limits.yaml":
			args[i] = limits
		case ":8080", ":8081":
			args[i] = engines.FreeAddr(t)
		case ":8090":
			args[i] = health
		case "5s":
			args[i] = "10ms" // --drain-delay
		}
	}
	checkProbes(t, exec.CommandContext(t.Context(), program, args...), health, serve)
}
