package policy

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

var update = flag.Bool("update", false, "write docs/policy.schema.json and the tables of docs/reference/policy.md")

// schemaFile is for editors. It covers keys, types and bounds; only Check finds contradictions.
const schemaFile = "../../docs/policy.schema.json"

// TestSchema_matchesTheModel generates the schema from the model: every key, bound and doc comment.
func TestSchema_matchesTheModel(t *testing.T) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(makeSchema(docComments(t))); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(schemaFile, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.String(), string(have)); diff != "" {
		t.Errorf("%s is stale: run go test ./guard/policy -run TestSchema_matchesTheModel -update (-want +got):\n%s", schemaFile, diff)
	}
}

// docComments returns the comment of each field of the model, in one line, by type and field.
func docComments(t *testing.T) map[string]string {
	t.Helper()
	docs := map[string]string{}
	for _, file := range []string{"policy.go", "identities.go", "descriptors.go", "overrides.go", "plans.go", "upstreams.go", "../identity/jwt.go", "../identity/identity.go"} {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range s.Fields.List {
					for _, name := range f.Names {
						docs[spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
					}
				}
			}
			return true
		})
	}
	return docs
}

func mustSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", value); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// accepts reports whether the schema takes a text.
func accepts(t *testing.T, s *jsonschema.Schema, text string) bool {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(value) == nil
}

// plans returns a policy with plans, and a limit and a budget that may differ.
func plans(limit, budget string) string {
	return "identities: {org: {func: true}}\nlimits: [{name: hour, limit: " + limit + ", window: 1h}]\nbudgets: [{name: day, budget: " + budget + ", window: 1d}]\nplans: {by: org}\n"
}

// TestSchema_agreesWithParse takes samples that are wrong in one key each, and others that are not.
func TestSchema_agreesWithParse(t *testing.T) {
	s := mustSchema(t)
	samples := []string{
		everything, "version: 1", "version: 2", "version: '1'", "verson: 1", "x-y: [1, {a: b}]", "limits:", "limits: 5", "namespace: a b",
		"namespace: a.b", "timeout: 50", "timeout: 50ms", "timeout: fast", "on_failure: local", "on_failure: maybe", "share: 0", "share: 1",
		"share: 1.1", "share: 0.001", "identity: {from: [cookie]}", "identities: {ip: {ipv6_prefix: 0}}", "identities: {ip: {ipv6_prefix: 129}}",
		"identities: {ip: {trusted_proxies: [proxy]}}", "identities: {ip: {trusted_proxies: [10.0.0.0/8]}}", "identities: {site: {ipv6_prefix: 48}}",
		"identities: {User: {func: true}}", "identities: {user: {func: true}}", "identities: {user: {func: 'yes'}}", "identities: [user]",
		"identities: {user: {jwt: {keys: a.json}}}", "identities: {user: {jwt: {claim: sub, keys: a.json}}}", "identities: {user: {certificate: san}}",
		"identities: {user: {jwt: {claim: sub, keys: a.json, leeway: 30}}}", "identities: {user: {header: a b, claimed: true}}",
		"identities: {user: {header: X-User, claimed: true}}", "identities: {user: {header: X-User, verify: {sha256: a}}}", "identities: {user: {first: ip}}",
		"limits: [{name: a, by: ip, limit: 1, window: 1m}]", "limits: [{name: a, by: [ip, client], limit: 1, window: 1m}]",
		"limits: [{name: a, by: IP, limit: 1, window: 1m}]", "limits: [{name: a, by: 5, limit: 1, window: 1m}]",
		"limits: [{name: a, by: [a, b, c, d, e], limit: 1, window: 1m}]", "blocks: [{name: many, attempts: all, by: [ip, client], tiers: [{threshold: 5, window: 1m, block: 5m}]}]",
		"limits: [{name: a, limit: 1, window: 1m}]", "limits: [{limit: 1, window: 1m}]", "limits: [{name: a/b, limit: 1, window: 1m}]",
		"limits: [{name: a, limit: 0, window: 1m}]", "limits: [{name: a, limit: 1000001, window: 1m}]", "limits: [{name: a, kind: gcra, limit: 1000001, window: 1m}]", "limits: [{name: a, kind: sliding_log, limit: 1000001, window: 1m}]", "limits: [{name: a, kind: , limit: 1000001, window: 1m}]", "limits: [{name: a, limit: 1.5, window: 1m}]",
		"limits: [{name: a, rate: 10/1m}]", "limits: [{name: a, rate: 10/m}]", "limits: [{name: a, rate: 10}]", "limits: [{name: a, rate: 10/1m, window: 1m}]",
		"limits: [{name: a, rate: 10/1m, limit: 10}]", "limits: [{name: a, kind: gcra, rate: 5000/1m}]", "limits: [{name: a, kind: quota, every: day, rate: 5/1m}]",
		"limits: [{name: a, limit: 1001, window: 1m}]", "limits: [{name: a, limit: 1000, window: 1m}]", "limits: [{name: a, kind: sliding_log, limit: 1001, window: 1m}]",
		"limits: [{name: a, limit: 1}]", "limits: [{name: a, limit: 1, window:}]", "limits: [{name: a, limit: 1, every: day}]",
		"limits: [{name: a, kind: quota, limit: 1}]", "limits: [{name: a, kind: quota, limit: 1, every:}]", "limits: [{name: a, kind: quota, limit: 1, every: day}]",
		"limits: [{name: a, kind: quota, limit: 1000000000000, every: day}]", "limits: [{name: a, kind: quota, limit: 1000000000001, every: day}]",
		"limits: [{name: a, kind: quota, limit: 1, every: day, window:}]", "limits: [{name: a, kind: quota, limit: 1, every: day, window: 1d}]",
		"limits: [{name: a, kind: concurrency, limit: 5}]", "limits: [{name: a, kind: concurrency, limit: 5, window: 1s}]", "limits: [{name: a, kind: concurrency, limit: 5, weight: 1001}]",
		"limits: [{name: a, kind: concurrency, limit: 1000001}]", "limits: [{name: a, kind: concurrency, limit: 5, lease: 1m, window:}]", "limits: [{name: a, limit: 5, lease: 1m}]",
		"limits: [{name: a, kind: quota, limit: 1, every: month, starts: 15}]", "limits: [{name: a, kind: quota, limit: 1, every: fortnight}]",
		"limits: [{name: a, limit: 1, window: 1d}]", "limits: [{name: a, limit: 1, window: 1h30m}]", "limits: [{name: a, limit: 1, window: 60}]",
		"limits: [{name: a, limit: 1, window: 1m, kind: gcra, burst: 5}]", "limits: [{name: a, limit: 1, window: 1m, kind: leaky}]",
		"limits: [{name: a, limit: 1, window: 1m, shadow: 'yes'}]", "limits: [{name: a, limit: 1, window: 1m, windows: 1m}]",
		"budgets: []", "budgets: {}", "budgets: [{name: a, budget: '5.00', window: 1d}]", "budgets: [{name: a, budget: 0.5, window: 1d}]",
		"budgets: [{name: a, budget: '0.0000001', window: 1d}]", "budgets: [{name: a, budget: 5 EUR, window: 1d}]",
		"budgets: [{name: a, budget: 1000000000001, window: 1d}]", "budgets: [{name: a, budget: -1, window: 1d}]",
		"blocks: [{name: many, attempts: all, tiers: [{threshold: 5, window: 1m, block: 5m}]}]", "blocks: [{name: many, attempts: all, tiers: [{threshold: 10001, window: 1m, block: 5m}]}]",
		"blocks: [{name: many, attempts: all, tiers: [{threshold: 5, window: 1m}]}]", "block: many", "endpoints: [{name: a, unbounded: true, challenge: {}}]", "endpoints: [{name: a, unbounded: 1}]",
		"endpoints: [{name: a, challenge: {on_failure: open}}]", "endpoints: [{name: a, challenge: {header: a b}}]", "endpoints: [{name: a, match: ['post /']}]",
		"endpoints: [{name: a, unbounded: true, match: ['POST /a', /b]}]", "endpoints: [{name: a, match: /b}]", "endpoints: [{name: a, unbounded: true, dedup: 0s}]", "endpoints: [{name: a, unbounded: true, idempotency: {header: X-ID}}]",
		"endpoints: [{name: a, unbounded: true, idempotency: {header: X-ID, for: 5}}]", "endpoints: [{match: [/]}]",
		"plans: {by: [org]}", "plans: {}", "plans: {by: org, named: {}}", plans("{default: 1, pro: 5}", "5"), plans("{default: 1, pro: 0}", "5"), plans("{pro: 5}", "5"),
		plans("{default: 1, pro: [5]}", "5"), plans("{default: 1, a plan: 5}", "5"), plans("1", "{default: 5, pro: '50.00'}"), plans("1", "{default: 5, pro: many}"),
		plans("1", "{pro: 5}"), strings.Replace(plans("1", "{default: 5, pro: 6}"), "limit: 1, window: 1h", "rate: {default: 10/1h, pro: 100/1h}", 1),
		strings.Replace(plans("1", "{default: 5, pro: 6}"), "limit: 1, window: 1h", "rate: {default: 10/1h, pro: 100}", 1),
		"overrides: {multiply: {ip=10.0.0.1: 2}}", "overrides: {multiply: {ip=10.0.0.1: 0}}", "overrides: {multiply: {ip=10.0.0.1: two}}", "overrides: {allow: ['']}", "overrides: {deny: [ip=10.0.0.1]}",
	}
	fine, wrong := 0, 0
	for _, sample := range samples {
		_, err := Parse("p.yaml", []byte(sample))
		if got := accepts(t, s, sample); got != (err == nil) {
			t.Errorf("the schema says %v, Parse %v of\n%s", got, err, sample)
		}
		if err == nil {
			fine++
		} else {
			wrong++
		}
	}
	if fine < 15 || wrong < 30 {
		t.Errorf("%d samples are fine and %d wrong: too few of one sort to tell", fine, wrong)
	}
}

// durationPattern matches what ParseDuration accepts, without a sign.
const durationPattern = `^([0-9]+d|0|([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`

const amountPattern = `^-?(0|[1-9][0-9]*)(\.[0-9]{1,6})?$`

// makeSchema returns the JSON Schema (draft 2020-12) of the model. docs holds the descriptions, by type and field.
func makeSchema(docs map[string]string) map[string]any {
	s := schemaOf(reflect.TypeFor[Policy](), docs)
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "rlfunc guard policy"
	s["patternProperties"] = map[string]any{"^x-": map[string]any{"description": "ignored; may hold anchors"}}
	return s
}

func schemaOf(t reflect.Type, docs map[string]string) map[string]any {
	properties, required := map[string]any{}, []any{}
	rules := map[Kind]*kindSchema{}
	for _, f := range fieldsOf(t) {
		f = f.addRules(rules)
		p := f.schema(f.typ, docs)
		if f.plans {
			byPlan := map[string]any{"type": "object", "additionalProperties": f.schema(f.typ, docs), "propertyNames": textSchema("name")}
			if f.required {
				byPlan["required"] = []any{defaultPlan}
			}
			p = map[string]any{"anyOf": []any{p, byPlan}}
		}
		p["description"] = docs[t.Name()+"."+t.Field(f.index).Name]
		if f.required {
			required = append(required, f.key)
		} else {
			p = orNull(p)
		}
		properties[f.key] = p
	}
	s := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	if rules[""] != nil && len(rules[""].required) > 0 {
		log, quota := rules[SlidingLog], rules[Quota]
		required = slices.DeleteFunc(required, func(key any) bool { return key == "limit" })
		for _, rule := range rules {
			rule.rated = len(rule.required) > 0
			rule.required = append(rule.required, "limit")
		}
		unset := &kindSchema{properties: maps.Clone(log.properties), required: log.required, rated: true}
		unset.properties["limit"] = map[string]any{"maximum": maxLog}
		quota.properties["every"], quota.required = map[string]any{"type": "string"}, append(quota.required, "every")
		other := rules[Concurrency].ifKind(Concurrency, log.ifKind(SlidingLog, unset.ifKind("", rules[""].schema())))
		for key, rule := range quota.ifKind(Quota, other) {
			s[key] = rule
		}
	}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// A kindSchema is what holds for limits of one kind besides the schema of all; the kind "" is any that has no rules of its own.
type kindSchema struct {
	properties map[string]any
	required   []any
	rated      bool // a rate may stand for what is required
}

func (k *kindSchema) schema() map[string]any {
	rest := map[string]any{"properties": k.properties, "required": k.required}
	if !k.rated {
		return rest
	}
	rated := map[string]any{"rate": map[string]any{"not": map[string]any{"type": "null"}}}
	for _, key := range k.required {
		rated[key.(string)] = map[string]any{"type": "null"}
	}
	return map[string]any{"anyOf": []any{rest, map[string]any{"properties": rated, "required": []any{"rate"}}}}
}

func (k *kindSchema) ifKind(kind Kind, other map[string]any) map[string]any {
	of := map[string]any{"properties": map[string]any{"kind": map[string]any{"const": string(kind)}}, "required": []any{"kind"}}
	if kind == "" {
		of = map[string]any{"properties": map[string]any{"kind": map[string]any{"type": "null"}}}
	}
	return map[string]any{"if": of, "then": k.schema(), "else": other}
}

// addRules adds how the field differs between kinds, and returns it with the widest bounds.
func (f field) addRules(rules map[Kind]*kindSchema) field {
	wide := f
	for _, kind := range []Kind{"", SlidingLog, Quota, Concurrency} {
		if rules[kind] == nil {
			rules[kind] = &kindSchema{properties: map[string]any{}}
		}
		of := f.of(kind)
		wide.required = wide.required && of.required
		if of.bounds != nil && of.bounds.max > wide.bounds.max {
			wide.bounds = of.bounds
		}
	}
	for kind, rule := range rules {
		switch of := f.of(kind); {
		case of.required != wide.required:
			rule.properties[f.key] = map[string]any{"not": map[string]any{"type": "null"}}
			rule.required = append(rule.required, f.key)
		case of.required != f.required:
			rule.properties[f.key] = map[string]any{"type": "null"}
		case of.bounds != wide.bounds:
			rule.properties[f.key] = map[string]any{"maximum": of.bounds.max}
		}
	}
	return wide
}

// orNull also accepts a key without a value, which counts as omitted.
func orNull(s map[string]any) map[string]any {
	description := s["description"]
	delete(s, "description")
	return map[string]any{"description": description, "anyOf": []any{s, map[string]any{"type": "null"}}}
}

func (f *field) schema(t reflect.Type, docs map[string]string) map[string]any {
	switch t.Kind() {
	case reflect.Struct:
		return schemaOf(t, docs)
	case reflect.Pointer:
		return f.schema(t.Elem(), docs)
	case reflect.Slice:
		if t == byType {
			list := f.sized("Items", map[string]any{"type": "array", "items": textSchema(f.format)})
			return map[string]any{"anyOf": []any{textSchema(f.format), list}}
		}
		return f.sized("Items", map[string]any{"type": "array", "items": f.schema(t.Elem(), docs)})
	case reflect.Map:
		return f.sized("Properties", map[string]any{"type": "object", "additionalProperties": f.schema(t.Elem(), docs), "propertyNames": textSchema(f.format)})
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float64:
		most := "maximum"
		if f.format == "warn" {
			most = "exclusiveMaximum"
		}
		return map[string]any{"type": "number", "exclusiveMinimum": 0, most: 1}
	case reflect.String:
		if all := enums[t]; all != nil {
			var values []any
			for _, v := range all {
				values = append(values, v)
			}
			return map[string]any{"enum": values}
		}
		if t == startsType {
			return map[string]any{"type": []any{"string", "integer"}}
		}
		return textSchema(f.format)
	}
	switch t {
	case durationType:
		return map[string]any{"type": "string", "pattern": durationPattern}
	case microsType:
		return map[string]any{"anyOf": []any{
			map[string]any{"type": "string", "pattern": amountPattern},
			map[string]any{"type": "number", "minimum": f.bounds.min / oneUnit, "maximum": f.bounds.max / oneUnit},
		}}
	}
	return f.number("integer")
}

func (f *field) number(kind string) map[string]any {
	return map[string]any{"type": kind, "minimum": f.bounds.min, "maximum": f.bounds.max}
}

func (f *field) sized(what string, s map[string]any) map[string]any {
	if f.items != nil {
		s["min"+what], s["max"+what] = f.items.min, f.items.max
	}
	return s
}

func textSchema(format string) map[string]any {
	s := map[string]any{"type": "string"}
	if pattern := formats[format].pattern; pattern != "" {
		s["pattern"] = pattern
	}
	return s
}
