// Command play is `rlfunc demo` without the rest of rlfunc, which takes far longer to compile. `make demo` runs it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/demo"
	"github.com/rlfunc/rlfunc/internal/terminal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	redis.SetLogger(&logging.VoidLogger{}) // the demo reports the same errors
	switch verdict, err := demo.Run(ctx, os.Stdout, terminal.StyleOf(os.Stdout)); {
	case err != nil:
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	case !verdict.OK:
		os.Exit(1)
	}
}
