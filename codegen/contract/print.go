package contract

import (
	"fmt"
	"go/format"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/internal/goclient"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

// Paste prints the steps of a finding as those of luatest.Suite.Run.
func (f Finding) Paste() string {
	const head, foot = "package p\n\nvar _ = []step{\n", "}\n"
	var b strings.Builder
	for i, s := range f.Steps {
		s.paste(&b, i == len(f.Steps)-1)
	}
	pretty, err := format.Source([]byte(head + b.String() + foot))
	if err != nil {
		return b.String()
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(pretty), head), foot)
}

func (s Step) paste(b *strings.Builder, last bool) {
	fields := []string{}
	add := func(format string, args ...any) { fields = append(fields, fmt.Sprintf(format, args...)) }
	if s.Advance != 0 {
		add("Advance: %s", duration(s.Advance))
	}
	if len(s.Foreign) > 0 {
		add("Given: func(t testing.TB, s *luatest.Server) {%s\n}", s.given())
	}
	add("Call: luatest.Call((*%[1]s.Client).%[2]s, %[1]s.%[2]sParams{%[3]s})", s.call.lib.Spec.Name, goclient.Name(s.call.Name), strings.Join(s.call.fields(), ", "))
	if !last {
		if s.wrote {
			add("Writes: true")
		}
		add("%s", s.want())
	}
	if len(s.Foreign) > 0 {
		fmt.Fprintf(b, "step{\n%s,\n},\n", strings.Join(fields, ",\n"))
		return
	}
	fmt.Fprintf(b, "step{%s},\n", strings.Join(fields, ", "))
}

// given are the commands that put foreign content. An expiry goes by the test's clock.
func (s Step) given() string {
	var b strings.Builder
	for _, words := range s.Foreign {
		if words[0] == "PEXPIRE" {
			ms, _ := strconv.ParseInt(words[2], 10, 64)
			fmt.Fprintf(&b, "\ns.Expire(t, %q, %s)", words[1], duration(ms*1000))
			continue
		}
		fmt.Fprintf(&b, "\ns.Do(t, %s)", strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%#v", words), "[]string{"), "}"))
	}
	return b.String()
}

// want is what the call answered.
func (s Step) want() string {
	err, failed := s.reply.(error)
	if !failed {
		return "Want: luatest.Any"
	}
	switch code, _, _ := strings.Cut(err.Error(), " "); code {
	case "RLARG":
		return "WantErr: fcall.ErrArgument"
	case "RLSTATE":
		return "WantErr: fcall.ErrState"
	default:
		return fmt.Sprintf("WantErr: &fcall.CodeError{Code: %q}", code)
	}
}

// duration is a span of microseconds as Go writes it.
func duration(us int64) string {
	unit, name := int64(1), "time.Microsecond"
	for i, longer := range []int64{1000, 1_000_000, 60_000_000, 3_600_000_000} {
		if us != 0 && us%longer == 0 {
			unit, name = longer, "time."+[]string{"Millisecond", "Second", "Minute", "Hour"}[i]
		}
	}
	if us == unit {
		return name
	}
	return fmt.Sprintf("%d * %s", us/unit, name)
}

// fields are those of the generated params struct.
func (c *call) fields() (out []string) {
	name, owner, pkg := goclient.Name, goclient.Name(c.Name), c.lib.Spec.Name
	add := func(field, literal string) {
		if literal != "" {
			out = append(out, name(field)+": "+literal)
		}
	}
	add(spec.Subject, strconv.Quote(c.subject))
	for i, p := range c.args {
		v := c.values[i]
		switch {
		case p.Kind == spec.KindGroup && len(v.rows) == 0:
		case p.Kind == spec.KindGroup:
			add(p.Name, rows(pkg, goclient.RowType(owner, p.Field), p.cells, v))
		case v.text != "" || !p.Optional:
			add(p.Name, literal(pkg, owner, p.Field, v.text))
		}
		if of := c.of[p.Name]; of != "" {
			add(p.Name+"_of", strconv.Quote(of))
		}
	}
	for _, k := range c.Keys() {
		if several := c.several[k.Name]; len(several) > 0 {
			add(k.Name, strings.Replace(fmt.Sprintf("%#v", several), "[]string", "[]fcall.Subject", 1))
		}
	}
	return out
}

// rows is the Go literal of a group's rows, whose type is a generated one.
func rows(pkg, kind string, fields []spec.Field, v value) string {
	all := make([]string, len(v.rows))
	for i, r := range v.rows {
		var out []string
		for j, cell := range r.cells {
			if cell.text == "" && fields[j].Optional {
				continue
			}
			if text := literal(pkg, kind, fields[j], cell.text); text != "" {
				out = append(out, goclient.Name(fields[j].Name)+": "+text)
			}
		}
		if r.of != "" {
			out = append(out, "Of: "+strconv.Quote(r.of))
		}
		all[i] = fmt.Sprintf("%s.%s{%s}", pkg, kind, strings.Join(out, ", "))
	}
	return fmt.Sprintf("%s.Pack%s(%s)", pkg, kind, strings.Join(all, ", "))
}

// literal is the Go literal of a field; empty where the zero value says the same.
func literal(pkg, owner string, f spec.Field, text string) string {
	out := text
	switch f.Kind {
	case spec.KindBool:
		if out = strconv.FormatBool(text == "1"); out == "false" && !f.TrueByDefault() {
			return ""
		}
	case spec.KindEnum:
		return pkg + "." + goclient.ResultType(owner, f) + goclient.Name(text)
	case spec.KindText:
		return strconv.Quote(text)
	case spec.KindTime:
		n, _ := strconv.ParseInt(text, 10, 64)
		return fmt.Sprintf("time.UnixMicro(%d)", n)
	case spec.KindDuration:
		n, _ := strconv.ParseInt(text, 10, 64)
		out = duration(n)
	}
	if !goclient.Pointer(f) {
		return out
	}
	switch f.Kind {
	case spec.KindCount, spec.KindInt:
		out = "int64(" + out + ")"
	case spec.KindMicros:
		out = "fcall.Micros(" + out + ")"
	case spec.KindFloat:
		out = "float64(" + out + ")"
	}
	return "new(" + out + ")"
}
