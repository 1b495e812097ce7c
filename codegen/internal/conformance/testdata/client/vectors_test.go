package conformance

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/codegen/internal/conformance/gen/everything"
	"github.com/rlfunc/rlfunc/fcall"
)

// packs are the functions that make rows of an argument, by the type of these.
var packs = map[reflect.Type]reflect.Value{}

func init() {
	for _, pack := range []any{
		everything.PackItem, everything.PackPacksPairsOf, everything.PackSignsSteps, everything.PackOpenSteps,
		everything.PackSometimesPairsOf, everything.PackRowsLimits, everything.PackRowsTiers,
	} {
		packs[reflect.TypeOf(pack).Out(0)] = reflect.ValueOf(pack)
	}
}

var kinds = map[string]error{
	"argument": fcall.ErrArgument, "state": fcall.ErrState, "code": &fcall.CodeError{Code: "RLBUSY"}, "reply": fcall.ErrReply,
	"not run": fcall.ErrUnavailable, "no permission": fcall.ErrNoPermission, "unknown": fcall.ErrOutcomeUnknown,
}

// TestVectors_areThoseOfEveryLanguage runs what the programs of other languages run, too: an answer, or an error and what it says.
// "server" is what the function does instead.
func TestVectors_areThoseOfEveryLanguage(t *testing.T) {
	var vectors []struct {
		Server, Call, Subject, Error, Says, Except string
		Args, Want                                 map[string]any
	}
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, rdb *redis.Client, c *everything.Client) {
		for i, v := range vectors {
			if v.Except == "go" {
				continue
			}
			if v.Server != "" {
				code := "#!lua name=everything_v2\nredis.register_function{flags = {'no-writes'}, " +
					fmt.Sprintf("function_name = 'everything_v2_%s', callback = function() %s end}", v.Call, v.Server)
				if err := rdb.FunctionLoadReplace(t.Context(), code).Err(); err != nil {
					t.Fatal(err)
				}
			}
			call := reflect.ValueOf(c).MethodByName(strings.ToUpper(v.Call[:1]) + v.Call[1:])
			params := reflect.New(call.Type().In(1)).Elem()
			v.Args["subject"] = v.Subject
			if !fill(t, params, v.Args) {
				continue // Go has no such value
			}
			in := []reflect.Value{reflect.ValueOf(t.Context()), params}
			call.Call(in) // the second call finds rows that are kept
			out := call.Call(in)
			err, _ := out[1].Interface().(error)
			switch {
			case v.Error != "" && (!errors.Is(err, kinds[v.Error]) || !strings.Contains(err.Error(), v.Says)):
				t.Errorf("vector %d: %s: got %v, want %s that says %q", i, v.Call, err, v.Error, v.Says)
			case v.Error == "" && err != nil:
				t.Errorf("vector %d: %s: %v", i, v.Call, err)
			case v.Error == "":
				if diff := cmp.Diff(wanted(t, v.Want), plain(out[0])); diff != "" {
					t.Errorf("vector %d: %s (-want +got):\n%s", i, v.Call, diff)
				}
			}
		}
	})
}

func key(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// fill sets the fields of a struct, or reports that one of them cannot have its value.
func fill(t *testing.T, to reflect.Value, args map[string]any) bool {
	for name, v := range args {
		field := to.FieldByNameFunc(func(s string) bool { return key(s) == key(name) })
		if !field.IsValid() {
			t.Fatalf("%s has no %s", to.Type(), name)
		}
		if !set(t, field, v) {
			return false
		}
	}
	return true
}

func set(t *testing.T, to reflect.Value, v any) bool {
	if to.Kind() == reflect.Pointer {
		to.Set(reflect.New(to.Type().Elem()))
		return set(t, to.Elem(), v)
	}
	switch v := v.(type) {
	case string, bool:
		to.Set(reflect.ValueOf(v).Convert(to.Type()))
	case float64:
		if to.Kind() == reflect.Int64 && v != math.Trunc(v) {
			return false
		}
		to.Set(reflect.ValueOf(v).Convert(to.Type()))
	case []any:
		rows := reflect.New(to.Type()).Elem()
		if pack := packs[to.Type()]; pack.IsValid() {
			rows = reflect.New(pack.Type().In(0)).Elem()
		}
		rows.Set(reflect.MakeSlice(rows.Type(), len(v), len(v)))
		for i, one := range v {
			if fields, isRow := one.(map[string]any); isRow && !fill(t, rows.Index(i), fields) || !isRow && !set(t, rows.Index(i), one) {
				return false
			}
		}
		if pack := packs[to.Type()]; pack.IsValid() {
			rows = pack.CallSlice([]reflect.Value{rows})[0]
		}
		to.Set(rows)
	case map[string]any:
		switch value := special(t, v).(type) {
		case int64:
			if to.Type() == reflect.TypeFor[time.Time]() {
				to.Set(reflect.ValueOf(time.UnixMicro(value)))
			} else {
				to.SetInt(value * int64(time.Microsecond))
			}
		case string:
			to.SetString(value)
		case float64:
			to.SetFloat(value)
		}
	}
	return true
}

// special returns a value that JSON does not have: microseconds of a duration and of a time, any float, any bytes, a long text.
func special(t *testing.T, v map[string]any) any {
	for form, raw := range v {
		switch form {
		case "us", "at":
			return int64(raw.(float64))
		case "float":
			f, err := strconv.ParseFloat(raw.(string), 64)
			if err != nil {
				t.Fatal(err)
			}
			return f
		case "bytes":
			b, err := hex.DecodeString(raw.(string))
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		case "repeat":
			of := raw.([]any)
			return strings.Repeat(of[0].(string), int(of[1].(float64)))
		}
	}
	return nil
}

// wanted returns a result of a vector as plain does.
func wanted(t *testing.T, v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = wanted(t, v[i])
		}
	case map[string]any:
		if value := special(t, v); value != nil {
			return value
		}
		out := map[string]any{}
		for name, one := range v {
			out[key(name)] = wanted(t, one)
		}
		return out
	}
	return v
}

// plain returns a result as JSON has it, with durations and times in microseconds.
func plain(v reflect.Value) any {
	switch value := v.Interface().(type) {
	case time.Duration:
		return float64(value.Microseconds())
	case time.Time:
		if value.IsZero() {
			return 0.0
		}
		return float64(value.UnixMicro())
	}
	switch v.Kind() {
	case reflect.Struct:
		out := map[string]any{}
		for i := range v.NumField() {
			out[key(v.Type().Field(i).Name)] = plain(v.Field(i))
		}
		return out
	case reflect.Slice:
		out := []any{}
		for i := range v.Len() {
			out = append(out, plain(v.Index(i)))
		}
		return out
	case reflect.Int64:
		return float64(v.Int())
	case reflect.String:
		return v.String()
	}
	return v.Interface()
}
