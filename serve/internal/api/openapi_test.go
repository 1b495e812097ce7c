package api

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/guard/inspect"
)

var update = flag.Bool("update", false, "write openapi.json")

func TestDocument_describesTheTypes(t *testing.T) {
	made, err := describe()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("openapi.json", made, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(document), string(made)); diff != "" {
		t.Errorf("openapi.json: run go test ./serve/internal/api -update (-committed +made):\n%s", diff)
	}
}

// describe returns the OpenAPI 3.1 document of the API, from its Go types.
func describe() ([]byte, error) {
	s := schemas{}
	paths := map[string]any{}
	for _, op := range (*API)(nil).operations() {
		id := strings.NewReplacer("/v1/", "", "challenges/", "challenge_", "leases/", "lease_").Replace(op.path)
		paths[op.path] = object{"post": object{
			"operationId": id, "summary": op.summary,
			"requestBody": object{"required": true, "content": object{"application/json": object{"schema": s.of(reflect.TypeOf(op.request))}}},
			"responses": object{
				"200":     object{"description": "The operation ran.", "content": object{"application/json": object{"schema": s.of(reflect.TypeOf(op.respond))}}},
				"default": object{"$ref": "#/components/responses/problem"},
			},
		}}
	}
	document, err := json.MarshalIndent(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "rlfunc serve", "version": "1",
			"description": "Durations are decimal seconds; money is decimal text. A refusal is an answer with allowed false; errors are RFC 9457 problems. " +
				"A decision waits for Redis for the timeout of the policy, any other operation for at most 1 s more.",
		},
		"paths":    paths,
		"security": []any{object{"token": []any{}}, object{}},
		"components": object{
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}},
			"responses": object{"problem": object{
				"description": "An error.", "content": object{"application/problem+json": object{"schema": s.of(reflect.TypeFor[problem]())}},
			}},
			"schemas": s,
		},
	}, "", "  ")
	return append(document, '\n'), err
}

// problem is the RFC 9457 body of an error.
type problem struct {
	Type    string `json:"type"`
	Title   string `json:"title"`
	Status  int    `json:"status"`
	Detail  string `json:"detail"`
	Error   string `json:"error" doc:"bad_request, unauthorized, not_found, method_not_allowed, too_large, unknown_endpoint, limiter_unavailable, outcome_unknown, timeout, no_permission, limiter_unreadable or limiter_failed."`
	Message string `json:"message"`
	Seconds int64  `json:"retry_after_seconds,omitempty"`
	Context *struct {
		RetryAfter int64 `json:"retryAfter"`
	} `json:"context,omitempty"`
}

type object = map[string]any

// schemas are the JSON Schemas of structs by name.
type schemas map[string]any

func (s schemas) of(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[inspect.Seconds]():
		return object{"type": "number"}
	case reflect.TypeFor[inspect.Money]():
		return object{"type": "string", "pattern": `^-?\d+(\.\d{1,6})?$`}
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Slice:
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Struct:
		if t.Name() == "" {
			return s.fields(t)
		}
		name := string(unicode.ToLower(rune(t.Name()[0]))) + t.Name()[1:]
		if t.PkgPath() == reflect.TypeFor[inspect.Report]().PkgPath() {
			name = "status" + t.Name()
		}
		if _, known := s[name]; !known {
			s[name] = nil // for a type that contains itself
			s[name] = s.fields(t)
		}
		return object{"$ref": "#/components/schemas/" + name}
	}
	panic(fmt.Sprintf("no schema of %v", t))
}

func (s schemas) fields(t reflect.Type) object {
	properties, required := object{}, []string{}
	for f := range t.Fields() {
		if !f.IsExported() {
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		property := s.of(f.Type)
		if doc := f.Tag.Get("doc"); doc != "" {
			property["description"] = doc
		}
		properties[name] = property
		if options != "omitempty" {
			required = append(required, name)
		}
	}
	return object{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}
