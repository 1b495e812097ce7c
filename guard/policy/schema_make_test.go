package policy

import "reflect"

// durationPattern matches what parseDuration accepts, without a sign.
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
		p["description"] = docs[t.Name()+"."+t.Field(f.index).Name]
		if f.required {
			required = append(required, f.key)
		} else {
			p = orNull(p)
		}
		properties[f.key] = p
	}
	s := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	if rules[""] != nil && len(rules[""].required) > 0 {
		quota := rules[Quota]
		quota.properties["every"], quota.required = map[string]any{"type": "string"}, append(quota.required, "every")
		other := rules[Concurrency].ifKind(Concurrency, rules[SlidingLog].ifKind(SlidingLog, rules[""].schema()))
		for key, rule := range quota.ifKind(Quota, other) {
			s[key] = rule
		}
	}
	return s
}

// A kindSchema is what holds for limits of one kind besides the schema of all; the kind "" is any that has no rules of its own.
type kindSchema struct {
	properties map[string]any
	required   []any
}

func (k *kindSchema) schema() map[string]any {
	s := map[string]any{"properties": k.properties}
	if len(k.required) > 0 {
		s["required"] = k.required
	}
	return s
}

func (k *kindSchema) ifKind(kind Kind, other map[string]any) map[string]any {
	of := map[string]any{"properties": map[string]any{"kind": map[string]any{"const": string(kind)}}, "required": []any{"kind"}}
	if kind == SlidingLog { // the default
		of = map[string]any{"properties": map[string]any{"kind": map[string]any{"enum": []any{string(kind), nil}}}}
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
				if v != f.not {
					values = append(values, v)
				}
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
