package luatest_test

import (
	"testing"

	"github.com/rlfunc/rlfunc/functions"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/internal/engines"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

func TestMain(m *testing.M) { engines.Main(m) }

// step is one step of a table of library ratelimit.
type step = luatest.Step[*ratelimit.Client]

var limiters = luatest.Suite[*ratelimit.Client]{
	Library: ratelimit.Library,
	Client:  ratelimit.New,
	Source:  functions.FS,
	Root:    functions.Root,
	Engines: everywhere,
	Scripts: somewhere,
}

// everywhere returns every engine that can be reached.
func everywhere(t testing.TB) []luatest.Engine {
	var all []luatest.Engine
	for _, e := range engines.All(t) {
		all = append(all, luatest.Engine{Name: e.Name, Client: e.Client, Embedded: e.Embedded, Clock: e.Clock})
	}
	return all
}

// somewhere is one real engine, where the tables run as scripts too: all of them would take twice the time.
func somewhere(t testing.TB) []luatest.Engine {
	for _, e := range engines.Real(t) {
		return []luatest.Engine{{Name: e.Name + "-scripts", Client: e.Client}}
	}
	return nil
}

// key is a key of a plain subject.
func key(subject, suffix string) string { return "ratelimit:{" + subject + "}:" + suffix }
