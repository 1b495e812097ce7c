package project_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/project"
)

const everyKey = `functions: lua
gen: made
python: made/python
typescript: made/typescript
plugins:
  - command: [python3, keys.py]
    out: made/keys
    options: {title: Keys}
targets:
  production:
    redis: rediss://${USER_NAME}:${PASS}@h:1
    namespace: shop
    policy: policy.yaml
    channel: canary
    no-replicas: true
`

// TestSchema_agreesWithTheParser tries samples that are right, and others that are wrong in one key each.
func TestSchema_agreesWithTheParser(t *testing.T) {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(project.Schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", value); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for sample, want := range map[string]bool{
		everyKey: true, "# nothing": true, "functions: lua": true, "gen: made": true, "targets: {}": true, "python: py": true, "typescript: ts": true, "python: [a]": false, "plugins:": true, "plugins: []": true,
		"plugins: [{command: [a], out: made/a}]": true, "plugins: [{command: [a, ''], out: b, options: {n: 1}}]": true, "plugins: [{command: [], out: b}]": false,
		"plugins: [{command: [''], out: b}]": false, "plugins: [{command: [a]}]": false, "plugins: [{out: b}]": false, "plugins: {command: [a], out: b}": false,
		"plugins: [{command: [a], out: b, option: {}}]": false, "plugins: [{command: [a], out: b, options: [c]}]": false, "typescript: {}": false, "targets:": true,
		"targets: {a: {redis: 'redis://h'}}": true, "targets: {a-1: {redis: embedded, no-replicas: false}}": true,
		"function: lua": false, "functions: [lua]": false, "functions: ''": false, "gen: ''": false, "targets: [a]": false, "targets: {a: redis}": false,
		"targets: {a: {}}": false, "targets: {a: {redis: ''}}": false, "targets: {A: {redis: embedded}}": false, "targets: {'': {redis: embedded}}": false,
		"targets: {a: {redis: embedded, no-replica: true}}": false, "targets: {a: {redis: embedded, no-replicas: maybe}}": false,
		"targets: {a: {redis: embedded, namespace: [a]}}": false, "targets: {a: {redis: embedded, policy: {}}}": false,
	} {
		_, err := project.ParseConfig("rlfunc.yaml", []byte(sample))
		if (err == nil) != want {
			t.Errorf("the parser reports %v for\n%s", err, sample)
		}
		data, err := yaml.YAMLToJSON([]byte(sample))
		if err != nil {
			t.Fatal(err)
		}
		if len(bytes.TrimSpace(data)) == 0 {
			data = []byte("null")
		}
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(instance); (err == nil) != want {
			t.Errorf("the schema reports %v for\n%s", err, sample)
		}
	}
}

func TestParseConfig_suggestsTheKey(t *testing.T) {
	for text, want := range map[string]string{
		"function: lua":                        `rlfunc.yaml:1:1: unknown key "function"; did you mean functions? (keys: functions, gen, python, typescript, bundles, plugins, targets)`,
		"targets:\n  a:\n    reddis: x":        `rlfunc.yaml:3:5: unknown key "reddis"; did you mean redis? (keys: redis, namespace, policy, channel, no-replicas)`,
		"plugins:\n  - comand: x":              `rlfunc.yaml:2:5: unknown key "comand"; did you mean command? (keys: command, out, options)`,
		"plugins: [{command: [a], out: ../b}]": `rlfunc.yaml: plugins[0].out must be a folder inside the project, got "../b"`,
		"plugins: [{command: [a], out: gen}]":  "rlfunc.yaml: gen and plugins[0].out must be two folders: only the generator writes plugins[0].out",
		"functions: ../x":                      `rlfunc.yaml: functions must be a folder inside the project, got "../x"`,
		"targets: {a: {namespace: shop}}":      "rlfunc.yaml: targets.a.redis must be a URL, such as redis://127.0.0.1:6379 or ${REDIS_URL}",
	} {
		_, err := project.ParseConfig("rlfunc.yaml", []byte(text))
		if err == nil || err.Error() != want {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
}

// An error in a flag names the flag, not rlfunc.yaml, which may have no plugins.
func TestSetFolders_namesThePluginFlag(t *testing.T) {
	for flag, want := range map[string]string{
		"":         "--plugin must be PROGRAM or PROGRAM=FOLDER, such as rlfunc-gen-keys=gen/keys",
		"keys=":    "--plugin must be PROGRAM or PROGRAM=FOLDER, such as rlfunc-gen-keys=gen/keys",
		"keys=../": `the folder of --plugin keys must be a folder inside the project, got "../"`,
		"keys=gen": "gen and the folder of --plugin keys must be two folders: only the generator writes the folder of --plugin keys",
	} {
		p := &project.Project{Config: project.Config{Functions: "functions", Gen: "gen"}}
		if err := p.SetFolders("", "", []string{flag}); err == nil || err.Error() != want {
			t.Errorf("%s\ngot  %v\nwant %s", flag, err, want)
		}
	}
}

func TestTarget_replacesEnvironmentVariables(t *testing.T) {
	config, err := project.ParseConfig("rlfunc.yaml", []byte(everyKey))
	if err != nil {
		t.Fatal(err)
	}
	p := &project.Project{Dir: "/shop", Config: config}
	t.Setenv("USER_NAME", "ada")
	t.Setenv("PASS", "")
	if _, err := p.Target("production"); err == nil || !strings.Contains(err.Error(), "set the environment variable PASS") {
		t.Errorf("got %v", err)
	}
	t.Setenv("PASS", "$x${y}")
	got, err := p.Target("production")
	if err != nil {
		t.Fatal(err)
	}
	want := project.Target{Redis: "rediss://ada:$x$%7By%7D@h:1", Namespace: "shop", Policy: "/shop/policy.yaml", Channel: "canary", NoReplicas: true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := p.Target("prodution"); err == nil || !strings.Contains(err.Error(), `has no target "prodution"; did you mean production? (targets: production)`) {
		t.Errorf("got %v", err)
	}
}
