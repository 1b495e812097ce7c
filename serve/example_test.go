package serve_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/serve"
)

func ExampleRun() {
	must := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	dir, err := os.MkdirTemp("", "limits")
	must(err)
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "limits.yaml")
	must(os.WriteFile(file, []byte(`
version: 1
endpoints:
  - name: all
    match: ["/"]
    limits: [{name: minute, limit: 100, window: 1m}]
`), 0o600))
	redis := embedded.New(embedded.Options{})
	defer redis.Close()
	client := redis.Client()
	defer client.Close()
	grpc, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	web, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)

	ctx, stop := context.WithCancel(context.Background()) // a service uses signal.NotifyContext
	ended := make(chan error)
	go func() {
		ended <- serve.Run(ctx, serve.Options{
			Redis: client, Policy: file, GRPC: grpc, HTTP: web, Logger: slog.New(slog.DiscardHandler),
		})
	}()
	response, err := http.Get("http://" + web.Addr().String() + "/livez")
	must(err)
	_ = response.Body.Close()
	fmt.Println(response.Status)
	stop()
	fmt.Println(<-ended)
	// Output:
	// 200 OK
	// <nil>
}
