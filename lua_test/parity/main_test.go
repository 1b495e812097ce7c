// Package parity_test runs snippets on the embedded engine and on real servers, and compares the replies.
package parity_test

import (
	"testing"

	"github.com/rlfunc/rlfunc/internal/engines"
)

func TestMain(m *testing.M) { engines.Main(m) }
