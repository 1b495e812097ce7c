package main

import (
	"fmt"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/internal/counting"
)

var listedFlag = regexp.MustCompile(`(?m)^ +(?:-., )?--([a-z-]+)`)

// TestFlags_haveOneMeaning lists the flags of all commands: a name, and a shorthand, has the same type and help everywhere.
func TestFlags_haveOneMeaning(t *testing.T) {
	type meaning struct{ text, command string }
	flags, shorthands := map[string]meaning{}, map[string]meaning{}
	same := func(seen map[string]meaning, name, text, command string) {
		if other, ok := seen[name]; ok && other.text != text {
			t.Errorf("%s means two things:\n%s: %s\n%s: %s", name, other.command, other.text, command, text)
		}
		seen[name] = meaning{text, command}
	}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.InitDefaultHelpFlag()
		for _, m := range listedFlag.FindAllStringSubmatch(cmd.LocalFlags().FlagUsages(), -1) {
			if m[1] == "help" || m[1] == "version" {
				continue
			}
			f := cmd.LocalFlags().Lookup(m[1])
			same(flags, "--"+f.Name, fmt.Sprintf("%s, %s", f.Value.Type(), f.Usage), cmd.CommandPath())
			if f.Shorthand != "" {
				same(shorthands, "-"+f.Shorthand, "--"+f.Name, cmd.CommandPath())
			}
			if first := f.Usage[:1]; strings.TrimSpace(f.Usage) == "" || strings.HasSuffix(f.Usage, ".") || first != strings.ToLower(first) && !strings.HasPrefix(f.Usage, "URL") && !strings.HasPrefix(f.Usage, "Go") {
				t.Errorf("%s --%s: %q is not a noun phrase", cmd.CommandPath(), f.Name, f.Usage)
			}
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk((&app{}).root())
	if len(flags) < 30 {
		t.Errorf("%d flags: the test does not see all commands", len(flags))
	}
}

// A password in a variable has any characters, and reaches the server as it is. A variable may also hold the whole URL.
func TestTarget_variables(t *testing.T) {
	first := make(chan string, 100) // what each connection sends first
	dir, addr := t.TempDir(), counting.Listen(t, func(conn net.Conn) {
		buffer := make([]byte, 4096)
		n, _ := conn.Read(buffer)
		conn.Close()
		first <- string(buffer[:n])
	})
	for _, c := range []struct{ url, user, pass, wantUser, wantPass string }{
		{"redis://${A_USER}:${A_PASS}@" + addr, "ops", "abc%41def", "ops", "abc%41def"},
		{"redis://${A_USER}:${A_PASS}@${A_ADDR}", "ops", "p@ss/w#rd", "ops", "p@ss/w#rd"},
		{"redis://${A_USER}:x${A_PASS}@${A_ADDR}/0?dial_timeout=9s", "o:p@s", "?a=b&c+d e:[1]", "o:p@s", "x?a=b&c+d e:[1]"},
		{"redis://${A_ADDR}?username=${A_USER}", "", "", "", ""}, // an error
		{"redis+cluster://${A_USER}:${A_PASS}@${A_ADDR}", "ops", "100%/@", "ops", "100%/@"},
		{"${A_URL}", "", "", "u", "p@s"},
		{"${A_URL}?dial_timeout=9s", "", "", "u", "p@s"},
	} {
		t.Setenv("A_USER", c.user)
		t.Setenv("A_PASS", c.pass)
		t.Setenv("A_ADDR", addr)
		t.Setenv("A_URL", "redis://u:p%40s@"+addr)
		write(t, filepath.Join(dir, "rlfunc.yaml"), "targets: {a: {redis: '"+c.url+"'}}\n")
		var out strings.Builder
		run([]string{"-C", dir, "history", "--target", "a"}, strings.NewReader(""), &out, &out)
		if c.wantUser == "" {
			if !strings.Contains(out.String(), "set the environment variable A_USER") {
				t.Errorf("%s: %s", c.url, out.String())
			}
			continue
		}
		want := strings.ToLower(fmt.Sprintf("auth\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(c.wantUser), c.wantUser, len(c.wantPass), c.wantPass))
		sent := ""
		for deadline := time.After(10 * time.Second); !strings.Contains(strings.ToLower(sent), want); {
			select {
			case sent = <-first: // or that of another connection of the row above
				continue
			case <-deadline:
				t.Errorf("%s with %q and %q: the server got %q; %s", c.url, c.user, c.pass, sent, out.String())
			}
			break
		}
	}
}
