package main

import (
	"testing"

	"github.com/rlfunc/rlfunc/examples/middleware/tried"
)

func TestHandler(t *testing.T) { tried.Handler(t, handler) }
