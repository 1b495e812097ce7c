package rueidis_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/rueidis"

	adapter "github.com/rlfunc/rlfunc/fcall/adapter/rueidis"
)

func TestNew_rejects(t *testing.T) {
	const replicas = "new rueidis adapter: SendToReplicas, ReplicaOnly and Standalone must be zero: calls need the primary"
	steps := []struct {
		name   string
		change func(*rueidis.ClientOption)
		want   string
	}{
		{"retries", func(o *rueidis.ClientOption) { o.DisableRetry = false }, "new rueidis adapter: DisableRetry must be true: a call that may have run must not be sent again"},
		{"a lifetime", func(o *rueidis.ClientOption) { o.ConnLifetime = time.Minute }, "new rueidis adapter: ConnLifetime must be 0: rueidis sends the calls of an expired connection again"},
		{"calls to replicas", func(o *rueidis.ClientOption) { o.SendToReplicas = func(rueidis.Completed) bool { return true } }, replicas},
		{"replicas only", func(o *rueidis.ClientOption) { o.ReplicaOnly = true }, replicas},
		{"a server's replicas", func(o *rueidis.ClientOption) { o.Standalone.ReplicaAddress = []string{"127.0.0.1:1"} }, replicas},
		{"a server's redirects", func(o *rueidis.ClientOption) { o.Standalone.EnableRedirect = true }, replicas},
		{"no address", func(o *rueidis.ClientOption) { o.InitAddress = nil }, "new rueidis adapter: " + rueidis.ErrNoAddr.Error()},
		{"no server", func(*rueidis.ClientOption) {}, "new rueidis adapter: dial tcp 127.0.0.1:1: connect: connection refused"},
	}
	for _, s := range steps {
		t.Run(s.name, func(t *testing.T) {
			o := rueidis.ClientOption{InitAddress: []string{"127.0.0.1:1"}, DisableRetry: true}
			s.change(&o)
			_, err := adapter.New(o)
			if diff := cmp.Diff(s.want, fmt.Sprint(err)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
