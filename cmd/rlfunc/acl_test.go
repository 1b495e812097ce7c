package main

import (
	"bytes"
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// rlfunc runs a command line outside any project, and returns its exit code and output.
func rlfunc(args ...string) (exitCode, string) {
	var out bytes.Buffer
	code := run(append([]string{"-C", os.TempDir()}, args...), strings.NewReader(""), &out, &out)
	return code, out.String()
}

// aclLine returns the line that `rlfunc acl` prints.
func aclLine(t *testing.T, args ...string) string {
	t.Helper()
	code, line := rlfunc(append([]string{"acl"}, args...)...)
	if code != exitOK {
		t.Fatalf("rlfunc acl %v: exit %d: %s", args, code, line)
	}
	return line
}

// as creates the user in a line of `rlfunc acl`, and returns its URL.
func as(t *testing.T, e engines.Engine, admin *redis.Client, line string) string {
	t.Helper()
	var words []any
	for word := range strings.FieldsSeq(line) {
		words = append(words, word)
	}
	name := words[2].(string)
	if err := admin.Do(t.Context(), append(words, ">secret")...).Err(); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	t.Cleanup(func() { admin.Do(context.Background(), "ACL", "DELUSER", name) })
	u, err := url.Parse(e.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(name, "secret")
	return u.String()
}

// Each role does its own job on a real server and is refused at the others'.
func TestACL_eachRoleDoesItsJobAndNothingElse(t *testing.T) {
	if len(engines.AllReal(t)) == 0 {
		t.Skip("SKIPPED: the embedded engine has no ACLs")
	}
	lines := map[string]string{
		"deployer": aclLine(t, "deployer"),
		"service":  aclLine(t, "service", "ratelimit", "cost", "abuse", "challenge", "guard"),
		"narrow":   aclLine(t, "service", "ratelimit", "--user", "narrow"),
		"operator": aclLine(t, "operator"),
	}
	for _, e := range engines.AllReal(t) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			admin := e.Client(t)
			deployer, service := as(t, e, admin, lines["deployer"]), as(t, e, admin, lines["service"])
			narrow, operator := as(t, e, admin, lines["narrow"]), as(t, e, admin, lines["operator"])
			does := func(user string, want exitCode, args ...string) {
				t.Helper()
				if code, said := rlfunc(append(args, "--redis", user)...); code != want {
					t.Errorf("rlfunc %v: exit %d, want %d: %s", args, code, want, said)
				}
			}
			does(service, exitError, "deploy")
			does(operator, exitError, "deploy")
			does(deployer, exitFindings, "plan")
			does(deployer, exitOK, "deploy")
			does(deployer, exitOK, "plan")
			does(deployer, exitOK, "status")
			does(operator, exitOK, "status")
			does(operator, exitOK, "plan")
			calls := [][]string{
				{"call", "ratelimit.sliding_log", "subject=u1", "limit=10", "window=1m", "receipt=r1"},
				{"call", "ratelimit.gcra", "subject=u1", "limit=7", "period=1m"},
				{"call", "cost.reserve", "subject=u1", "receipt=a", "estimate=10", "budgets.0.budget=100", "budgets.0.window=1m", "hold=1s"},
				{"call", "abuse.attempt", "subject=u1", "tiers.0.threshold=3", "tiers.0.window=1m", "tiers.0.block=1m"},
				{"call", "abuse.unblock", "subject=u1"},
				{
					"call", "guard.admit", "subject=u1", "receipt=a", "limits.0.name=all", "limits.0.kind=sliding_log", "limits.0.limit=9", "limits.0.window=1m",
					"budgets.0.budget=100", "budgets.0.window=1m", "estimate=10", "reservation=b", "hold=1s", "tiers.0.threshold=9", "tiers.0.window=1m", "tiers.0.block=1m",
				},
				{
					"call", "guard.refund", "subject=u1", "receipt=a", "limits.0.name=all", "limits.0.kind=sliding_log", "limits.0.limit=9", "limits.0.window=1m",
					"taken.0.left=1m",
				},
				{"call", "guard.peek", "subject=u1"},
				{"call", "challenge.issue", "subject=u1", "token=0123456789abcdef0123456789abcdef", "ttl=1m"},
			}
			for _, call := range calls {
				does(service, exitOK, call...)
				does(operator, exitOK, call...)
				does(deployer, exitError, call...)
			}
			does(narrow, exitOK, calls[0]...)
			does(narrow, exitError, calls[2]...)
		})
	}
}

// A line grants the subcommands and the channels that functions use and no others, and keys to read only if they only read.
func TestACL_subcommandsChannelsAndReaders(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"rlfunc.yaml":                 "",
		"functions/shop/library.lua":  "--- Sells.\n--- @library shop 1.0.0\n",
		"functions/shop/tell.lua":     "--- Tells who listens.\n--- @key    topic  string[topic]  what it is about\n--- @result heard  count          listeners\nlocal function tell(topic)\n  return redis.call('PUBLISH', 'shop:changes', 'x') + redis.call('SPUBLISH', topic, 'x')\nend\n",
		"functions/stall/library.lua": "--- Shows.\n--- @library stall 1.0.0\n",
		"functions/stall/look.lua":    "--- Looks.\n--- @flags  no-writes\n--- @key    orders  stream[orders]  the orders\n--- @result there   bool            whether there are any\nlocal function look(orders)\n  if redis.call('EXISTS', orders) == 0 then\n    return false\n  end\n  redis.call('XINFO', 'STREAM', orders)\n  return true\nend\n",
	}
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		write(t, file, text)
	}
	line := func(library string) string {
		var out, errOut bytes.Buffer
		if code := run([]string{"-C", dir, "acl", "service", library, "--user", library}, strings.NewReader(""), &out, &errOut); code != exitOK {
			t.Fatalf("rlfunc acl service %s: exit %d: %s", library, code, &errOut)
		}
		return strings.TrimSpace(out.String())
	}
	shop, stall := line("shop"), line("stall")
	if diff := cmp.Diff("ACL SETUSER shop reset on ~rl:* &rl:* &shop:changes +fcall|shop_v1_tell +publish +spublish +type", shop); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("ACL SETUSER stall reset on %R~rl:* +exists +fcall_ro|stall_v1_look +type +xinfo|stream", stall); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	onEach(t, engines.AllReal(t), func(t *testing.T, e engines.Engine, admin *redis.Client) {
		rlfuncIn(t, dir, "deploy", "--redis", e.URL)
		must(t, admin.XAdd(t.Context(), &redis.XAddArgs{Stream: "rl:{u1}:orders", Values: []string{"a", "b"}}).Err())
		rlfuncIn(t, dir, "call", "shop.tell", "subject=u1", "--redis", as(t, e, admin, shop))
		reader := as(t, e, admin, stall)
		rlfuncIn(t, dir, "call", "stall.look", "subject=u1", "--redis", reader)
		o, err := redis.ParseURL(reader)
		if err != nil {
			t.Fatal(err)
		}
		client := redis.NewClient(o)
		defer client.Close()
		if err := client.XInfoGroups(t.Context(), "rl:{u1}:orders").Err(); err == nil || !strings.HasPrefix(err.Error(), "NOPERM") {
			t.Errorf("XINFO GROUPS: %v", err)
		}
	})
}

// With --identify a service may say which libraries it uses; without it Redis refuses.
func TestACL_aServiceThatIdentifiesItself(t *testing.T) {
	lines := map[bool]string{
		false: aclLine(t, "service", "ratelimit"),
		true:  aclLine(t, "service", "ratelimit", "--identify", "--user", "identified"),
	}
	onEach(t, engines.AllReal(t), func(t *testing.T, e engines.Engine, admin *redis.Client) {
		if admin.Do(t.Context(), "CLIENT", "SETINFO", "LIB-VER", "1").Err() != nil {
			t.Skip("this server has no CLIENT SETINFO")
		}
		for may, line := range lines {
			o, err := redis.ParseURL(as(t, e, admin, line))
			if err != nil {
				t.Fatal(err)
			}
			o.IdentitySuffix = fcall.Identity(ratelimit.Library)
			service := redis.NewClient(o)
			defer service.Close()
			if _, err := service.FCallRO(t.Context(), "absent", nil).Result(); err == nil {
				t.Error("it called an absent function")
			}
			if got := strings.Contains(admin.ClientList(t.Context()).Val(), o.IdentitySuffix); got != may {
				t.Errorf("identify %v: in CLIENT LIST %v", may, got)
			}
			_ = service.Close()
		}
	})
}

// In a project of other libraries, too, an operator's commands call guard's.
func TestACL_operatorOfAProject(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "limits")
	if code, said := rlfunc("init", dir); code != exitOK {
		t.Fatal(said)
	}
	code, line := rlfunc("acl", "operator", "-C", dir)
	if code != exitOK || !strings.Contains(line, " +fcall|quota_v1_take ") || !strings.Contains(line, " +fcall_ro|guard_v1_peek ") {
		t.Errorf("exit %d: %s", code, line)
	}
}

func TestACL_rejectsWrongArguments(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "rlfunc acl: needs a role: service, deployer or operator"},
		{[]string{"root"}, `no role "root" (roles: service, deployer, operator)`},
		{[]string{"service", "nope"}, `no library "nope"`},
		{[]string{"service", "--user", "a b"}, `rlfunc acl: --user must be of the characters A-Z a-z 0-9 _ . -, got "a b"`},
		{[]string{"service", "--namespaces", "a:b"}, "namespace"},
		{[]string{"deployer", "ratelimit"}, "a deployer may deploy any library"},
		{[]string{"operator", "--auto-load"}, "not for role operator"},
		{[]string{"deployer", "--identify"}, "not for role deployer"},
	} {
		if code, said := rlfunc(append([]string{"acl"}, c.args...)...); code != exitError || !strings.Contains(said, c.want) {
			t.Errorf("rlfunc acl %v: exit %d, %q does not say %q", c.args, code, said, c.want)
		}
	}
}
