// Code generated from adapter/rueidis by go test ./fcall/adapter -update. DO NOT EDIT.

package valkeygo_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/valkey-io/valkey-go"

	adapter "github.com/rlfunc/rlfunc/fcall/adapter/valkeygo"
)

func TestNew_rejects(t *testing.T) {
	const replicas = "new valkey-go adapter: SendToReplicas, ReplicaOnly and Standalone must be zero: calls need the primary"
	steps := []struct {
		name   string
		change func(*valkey.ClientOption)
		want   string
	}{
		{"retries", func(o *valkey.ClientOption) { o.DisableRetry = false }, "new valkey-go adapter: DisableRetry must be true: a call that may have run must not be sent again"},
		{"a lifetime", func(o *valkey.ClientOption) { o.ConnLifetime = time.Minute }, "new valkey-go adapter: ConnLifetime must be 0: valkey-go sends the calls of an expired connection again"},
		{"calls to replicas", func(o *valkey.ClientOption) { o.SendToReplicas = func(valkey.Completed) bool { return true } }, replicas},
		{"replicas only", func(o *valkey.ClientOption) { o.ReplicaOnly = true }, replicas},
		{"a server's replicas", func(o *valkey.ClientOption) { o.Standalone.ReplicaAddress = []string{"127.0.0.1:1"} }, replicas},
		{"a server's redirects", func(o *valkey.ClientOption) { o.Standalone.EnableRedirect = true }, replicas},
		{"no address", func(o *valkey.ClientOption) { o.InitAddress = nil }, "new valkey-go adapter: " + valkey.ErrNoAddr.Error()},
		{"no server", func(*valkey.ClientOption) {}, "new valkey-go adapter: dial tcp 127.0.0.1:1: connect: connection refused"},
	}
	for _, s := range steps {
		t.Run(s.name, func(t *testing.T) {
			o := valkey.ClientOption{InitAddress: []string{"127.0.0.1:1"}, DisableRetry: true}
			s.change(&o)
			_, err := adapter.New(o)
			if diff := cmp.Diff(s.want, fmt.Sprint(err)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
