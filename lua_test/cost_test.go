package luatest_test

import (
	"github.com/rlfunc/rlfunc/functions"
	budget "github.com/rlfunc/rlfunc/gen/cost"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

var budgets = luatest.Suite[*budget.Client]{
	Library: budget.Library,
	Client:  budget.New,
	Source:  functions.FS,
	Root:    functions.Root,
	Engines: everywhere,
}
