package loader_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/loader"
)

func TestParseURL_readsAllForms(t *testing.T) {
	tests := []struct {
		url, text, addr, user, password string
		db                              int
		tls                             bool
	}{
		{"redis://127.0.0.1:7001", "redis://127.0.0.1:7001/0", "127.0.0.1:7001", "", "", 0, false},
		{" redis://localhost\n", "redis://localhost:6379/0", "localhost:6379", "", "", 0, false},
		{"REDIS://h:1/3", "redis://h:1/3", "h:1", "", "", 3, false},
		{"redis://h:1?db=3", "redis://h:1/3", "h:1", "", "", 3, false},
		{"redis://u:p%40s%2F@h:1/", "redis://h:1/0", "h:1", "u", "p@s/", 0, false},
		{"redis://:p@h", "redis://h:6379/0", "h:6379", "", "p", 0, false},
		{"rediss://u:p@h:1/2?skip_verify=true", "rediss://h:1/2", "h:1", "u", "p", 2, true},
		{"redis://[::1]:7001", "redis://[::1]:7001/0", "[::1]:7001", "", "", 0, false},
		{"unix:///run/r.sock", "unix:///run/r.sock", "/run/r.sock", "", "", 0, false},
		{"unix://u:p@/run/r.sock?db=2", "unix:///run/r.sock?db=2", "/run/r.sock", "u", "p", 2, false},
		{"redis+sentinel://main@h1,h2:7/3", "redis+sentinel://main@h1:26379,h2:7/3", "FailoverClient", "", "", 3, false},
		{"rediss+sentinel://u:p%40s@m%20x@[::1]?sentinel_username=s&sentinel_password=x", "rediss+sentinel://m%20x@[::1]:26379/0", "FailoverClient", "u", "p@s", 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.url, func(t *testing.T) {
			a, err := loader.ParseURL(tt.url)
			if err != nil {
				t.Fatal(err)
			}
			client := a.NewClient().(*redis.Client)
			defer client.Close()
			o := client.Options()
			equal(t, "address", []any{tt.text, tt.addr, tt.user, tt.password, tt.db, tt.tls},
				[]any{a.String(), o.Addr, o.Username, o.Password, o.DB, o.TLSConfig != nil})
		})
	}
}

func TestParseURL_readsTheNodesOfACluster(t *testing.T) {
	a, err := loader.ParseURL("rediss+cluster://u:p%40s@h1,h2:7002?dial_timeout=2s")
	if err != nil {
		t.Fatal(err)
	}
	client := a.NewClient().(*redis.ClusterClient)
	defer client.Close()
	o := client.Options()
	equal(t, "address", []any{"rediss+cluster://h1:6379,h2:7002", []string{"h1:6379", "h2:7002"}, "u", "p@s", true, 2 * time.Second},
		[]any{a.String(), o.Addrs, o.Username, o.Password, o.TLSConfig != nil, o.DialTimeout})
}

// An option means the same for one server, a cluster and behind sentinels.
func TestParseURL_takesEveryOptionInEveryForm(t *testing.T) {
	const query = "?protocol=2&client_name=c&max_retries=4&min_retry_backoff=5ms&max_retry_backoff=6ms&dial_timeout=7s&read_timeout=8s&write_timeout=9s" +
		"&pool_fifo=true&pool_size=10&pool_timeout=11s&min_idle_conns=12&max_idle_conns=13&max_active_conns=14&max_concurrent_dials=3" +
		"&conn_max_idle_time=16s&conn_max_lifetime=17s&conn_max_lifetime_jitter=2s"
	want := map[string]any{
		"Protocol": 2, "ClientName": "c", "MaxRetries": 4, "MinRetryBackoff": 5 * time.Millisecond, "MaxRetryBackoff": 6 * time.Millisecond,
		"DialTimeout": 7 * time.Second, "ReadTimeout": 8 * time.Second, "WriteTimeout": 9 * time.Second,
		"PoolFIFO": true, "PoolSize": 10, "PoolTimeout": 11 * time.Second, "MinIdleConns": 12, "MaxIdleConns": 13, "MaxActiveConns": 14,
		"MaxConcurrentDials": 3, "ConnMaxIdleTime": 16 * time.Second, "ConnMaxLifetime": 17 * time.Second, "ConnMaxLifetimeJitter": 2 * time.Second,
	}
	for _, url := range []string{"redis://127.0.0.1:1", "redis+cluster://127.0.0.1:1", "redis+sentinel://main@127.0.0.1:1"} {
		a, err := loader.ParseURL(url + query)
		if err != nil {
			t.Fatal(err)
		}
		client := a.NewClient()
		defer client.Close()
		var options any
		switch client := client.(type) {
		case *redis.Client:
			options = client.Options()
		case *redis.ClusterClient:
			options = client.Options()
		}
		got := map[string]any{}
		for name := range want {
			got[name] = reflect.ValueOf(options).Elem().FieldByName(name).Interface()
		}
		equal(t, "options of "+url, want, got)
	}
}

func TestParseURL_errorsHidePasswords(t *testing.T) {
	tests := []struct {
		url    string
		reason loader.Reason
		part   string
	}{
		{"", loader.ErrURL, "it must begin with redis://"},
		{"localhost:6379", loader.ErrURL, "must begin with redis://"},
		{"redis:localhost", loader.ErrURL, "must begin with redis://"},
		{"http://h", loader.ErrURL, "it must begin with"},
		{"embedded://", loader.ErrURL, "it must begin with"},
		{"redis://", loader.ErrURL, "a host is missing"},
		{"redis:///3", loader.ErrURL, "a host is missing"},
		{"redis://:6379", loader.ErrURL, "a host is missing"},
		{"redis://h:port", loader.ErrURL, "a port is a number"},
		{"redis://h:0", loader.ErrURL, "a port is a number from 1 to 65535"},
		{"redis://h:65536", loader.ErrURL, "a port is a number from 1 to 65535"},
		{"redis://::1:6379", loader.ErrURL, "in brackets"},
		{"redis://h/three", loader.ErrURL, "database"},
		{"redis://h/-1", loader.ErrURL, "database"},
		{"redis://h/1/2", loader.ErrURL, "database"},
		{"redis://h?db=-1", loader.ErrURL, "database"},
		{"redis://h?timeout=1s", loader.ErrURL, "unexpected option: timeout"},
		{"redis://h?dial_timeout=soon", loader.ErrURL, "invalid dial_timeout duration"},
		{"redis://h#1", loader.ErrURL, "%23"},
		{"redis://u:secret@h:port", loader.ErrURL, "a port is a number"},
		{"redis://u:sec/secret@h:1", loader.ErrURL, "/ as %2F"},
		{"redis://u:secret%zz@h:1", loader.ErrURL, "write % as %25"},
		{"redis://u:s]ecret%20@h:1", loader.ErrURL, "] as %5D"},
		{"redis://u:s@ec%zz@h:1", loader.ErrURL, "@ as %40"},
		{"redis://u:s\x01ecret@h:1", loader.ErrURL, "in a user or password write"},
		{"redis://u:sec#secret@h:1", loader.ErrURL, "# as %23"},
		{"redis://h\x00:1", loader.ErrURL, "host:port"},
		{"unix://", loader.ErrURL, "unix:///run/redis.sock"},
		{"unix://run/redis.sock", loader.ErrURL, "unix:///run/redis.sock"},
		{"redis://h1,h2", loader.ErrURL, "redis+cluster://host1,host2"},
		{"redis+ring://h1,h2", loader.ErrURL, "it must begin with"},
		{"redis+://h1", loader.ErrURL, "it must begin with"},
		{"unix+cluster:///run/a", loader.ErrURL, "it must begin with"},
		{"redis+cluster://h1,,h2", loader.ErrURL, "a host is missing"},
		{"redis+cluster://h1,h2/3", loader.ErrURL, "database 0 only"},
		{"redis+cluster://u:secret@h1:port,h2", loader.ErrURL, "a port is a number"},
		{"redis+cluster://u:sec/secret@h1,h2", loader.ErrURL, "/ as %2F"},
		{"redis+sentinel://h1,h2", loader.ErrURL, "before the last @ stands the name of the primary"},
		{"redis+sentinel://u:secret@h1,h2", loader.ErrURL, "before the last @ stands the name of the primary"},
		{"redis+sentinel://@h1", loader.ErrURL, "before the last @"},
		{"redis+cluster://h1?sentinel_username=u", loader.ErrURL, "unexpected option: sentinel_username"},
		{"redis://h?tls_ca=ca.pem", loader.ErrURL, "are for TLS, and the scheme is not rediss"},
		{"rediss://h?tls_ca=/no/such/file", loader.ErrURL, "tls_ca: open /no/such/file"},
		{"rediss://h?tls_cert=a", loader.ErrURL, "tls_cert and tls_key go together"},
	}
	for _, tt := range tests {
		t.Run(tt.url, func(t *testing.T) {
			_, err := loader.ParseURL(tt.url)
			says(t, err, tt.reason, "parse the redis url: ", tt.part)
			if strings.Contains(err.Error(), "sec") {
				t.Errorf("error tells the password: %v", err)
			}
		})
	}
}
