package faults

import (
	"testing"

	"github.com/rlfunc/rlfunc/lua_test/engines"
)

func TestMain(m *testing.M) { engines.Main(m) }
