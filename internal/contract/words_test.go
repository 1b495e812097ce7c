package contract_test

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/codegen/runtime"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// words makes a step's call of a library without a generated client: "order subject=item7 user=ann". The result is written in the same way,
// "outcome=ordered left=9", with rows as [id=a data=x, id=b data=y] and times since the test's start.
func words(lib *spec.Library, text string) func(context.Context, *fcall.Client) (any, error) {
	return func(ctx context.Context, client *fcall.Client) (any, error) {
		fields := strings.Fields(text)
		for i := range lib.Functions {
			if fn := &lib.Functions[i]; fn.Name == fields[0] {
				return call(ctx, client, fn, fields[1:])
			}
		}
		return nil, fmt.Errorf("%s has no function %s", lib.Name, fields[0])
	}
}

func call(ctx context.Context, client *fcall.Client, fn *spec.Function, fields []string) (string, error) {
	given := map[string]string{}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		given[name] = value
	}
	a := client.Args(runtime.Function(client.Library(), fn), 0, 0)
	subject := fcall.Subject(given[spec.Subject])
	for _, k := range fn.Keys() {
		if _, with := given[k.With]; k.With != "" && !with {
			continue
		}
		if k.SuffixOf == "" {
			a.Key(k.Name, subject, k.Suffix)
		} else {
			a.RowKey(k.Name, subject, k.Suffix, given[k.SuffixOf])
		}
	}
	used := map[string]bool{spec.Subject: true}
	for _, p := range fn.Params {
		if p.Kind == spec.KindKey {
			continue
		}
		used[p.Name] = true
		value, ok := given[p.Name]
		if err := add(a, p, value, ok); err != nil {
			return "", fmt.Errorf("%s: %s: %w", fn.Name, p.Name, err)
		}
	}
	for name := range given {
		if !used[name] {
			return "", fmt.Errorf("%s has no argument %s", fn.Name, name)
		}
	}
	reply, err := a.Call(ctx)
	if err != nil {
		return "", err
	}
	out := row(reply, fn.Results)
	return out, reply.Close()
}

// add adds an argument, or leaves out an optional one.
func add(a *fcall.Args, p spec.Field, value string, given bool) error {
	if !given && !p.Optional && p.Kind != spec.KindBool {
		return fmt.Errorf("is missing")
	}
	switch p.Kind {
	case spec.KindText, spec.KindBytes:
		if !given {
			a.OptText(p.Name, "", p.Min, p.Max)
			return nil
		}
		a.Text(p.Name, value, p.Min, p.Max)
	case spec.KindEnum:
		a.Enum(p.Name, value, p.Values...)
	case spec.KindBool:
		if p.Optional {
			a.OptBool(p.Name, value == "true")
		} else {
			a.Bool(p.Name, value == "true")
		}
	case spec.KindList:
		items := strings.Split(value, ",")
		a.Rows(p.Name, len(items), p.Min, p.Max)
		for i, item := range items {
			a.Row(i)
			a.Text("", item, p.Fields[0].Min, p.Fields[0].Max)
		}
		a.EndRows()
	case spec.KindDuration, spec.KindCount:
		if !given {
			a.OptIntPtr(p.Name, nil, p.Min, p.Max)
			return nil
		}
		if p.Kind == spec.KindDuration {
			d, err := time.ParseDuration(value)
			a.Duration(p.Name, d, p.Min, p.Max)
			return err
		}
		n, err := strconv.ParseInt(value, 10, 64)
		a.Int(p.Name, n, p.Min, p.Max)
		return err
	case spec.KindFloat:
		n, err := strconv.ParseFloat(value, 64)
		a.Float(p.Name, n, p.Min, p.Max)
		return err
	default:
		return fmt.Errorf("arguments of type %s are not for words", p.Kind)
	}
	return nil
}

func row(reply *fcall.Reply, fields []spec.Field) string {
	var out []string
	for _, f := range fields {
		switch {
		case f.Optional && !reply.Bool(f.Name):
			reply.Text(f.Name)
			out = append(out, f.Name+"=none")
		case f.Kind.Repeated():
			rows := make([]string, reply.Rows(f.Name))
			for i := range rows {
				reply.Row(i)
				if rows[i] = row(reply, f.Fields); f.Kind == spec.KindList {
					_, rows[i], _ = strings.Cut(rows[i], "=")
				}
			}
			reply.EndRows()
			out = append(out, f.Name+"=["+strings.Join(rows, ", ")+"]")
		default:
			out = append(out, f.Name+"="+value(reply, f))
		}
	}
	return strings.Join(out, " ")
}

func value(reply *fcall.Reply, f spec.Field) string {
	switch f.Kind {
	case spec.KindBool:
		return strconv.FormatBool(reply.Bool(f.Name))
	case spec.KindText, spec.KindBytes:
		return cmp.Or(reply.Text(f.Name), "''")
	case spec.KindEnum:
		return reply.Enum(f.Name, f.Values...)
	case spec.KindFloat:
		return strconv.FormatFloat(reply.Float(f.Name), 'g', -1, 64)
	case spec.KindDuration:
		return reply.Duration(f.Name).String()
	case spec.KindTime:
		at := reply.Time(f.Name)
		if at.IsZero() {
			return "never"
		}
		return at.Sub(luatest.Start).String()
	}
	return strconv.FormatInt(reply.Count(f.Name), 10)
}
