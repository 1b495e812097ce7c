// Command play is `rlfunc demo` without the rest of rlfunc, which takes far longer to compile. `make demo` runs it.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/demo"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/exitcode"
	"github.com/rlfunc/rlfunc/internal/terminal"
)

func main() {
	o := demo.Options{Out: os.Stdout}
	flag.StringVar(&o.Server, "redis", "embedded", "`URL` of a server; the demo then waits in real time, and deletes its keys")
	flag.BoolVar(&o.JSON, "json", false, "print the verdict as one JSON object")
	flag.Parse()
	ctx, stop := exitcode.NotifyContext()
	defer stop()
	redis.SetLogger(&logging.VoidLogger{}) // the demo reports the same errors
	o.Style = new(terminal.ColorMode).StyleOf(os.Stdout)
	verdict, err := demo.Run(ctx, o)
	switch code, _ := exitcode.Of(ctx, err); {
	case err != nil:
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(int(code))
	case !verdict.OK:
		os.Exit(int(exitcode.Error))
	}
}
