package luatest_test

import (
	"testing"

	"github.com/rlfunc/rlfunc/internal/engines"
)

func TestMain(m *testing.M) { engines.Main(m) }
