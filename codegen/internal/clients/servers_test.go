package clients_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/internal/requires"
	"github.com/rlfunc/rlfunc/internal/serverinfo"
)

// infos are texts of INFO: of each product, in the order of its fields, and of versions that are hard to compare.
var infos = []string{
	"# Server\r\nredis_version:7.2.4\r\nredis_mode:standalone\r\n", "redis_version:7.4.0\r\n", "redis_version:7.10.1\r\n", "redis_version:7.4\n",
	"redis_version:8\r\n", "redis_version:7.9.240\r\n", "redis_version:255.255.255\r\n", "redis_version:unstable\r\n", "redis_version:7.4-rc1\r\n",
	"redis_version:7.4.0.1\r\n", "valkey_version:9.0.1.2\r\n", "redis_version:999999.999999.999999\r\n", "redis_version:7.3.999999\r\n",
	"# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.9\r\nvalkey_release_stage:ga\r\n",
	"redis_version:7.2.4\r\nvalkey_version:9.0.0\r\n", "redis_version:7.2.4\r\nvalkey_version:9.0.1\r\n", "valkey_version:10.0.0\r\nredis_version:7.2.4\r\n",
	"# Server\r\nredis_version:7.4.0\r\ndragonfly_version:df-v1.40.1\r\nredis_mode:standalone\r\n", "redis_version:7.4.0\r\ndragonfly_version:9.9.9\r\n",
	"# Server\r\nversion:2.11.0\r\nkvrocks_version:2.11.0\r\nredis_version:7.4.0\r\n", "redis_version:7.4.0\r\nkvrocks_version:unstable\r\n",
	"# Server\r\ngarnet_version:1.0.65\r\nos:Unix 5.15.0.1\r\n", "garnet_version:1.0.65\r\nredis_version:7.4.3\r\n",
	"# Server\r\nredis_version:6.3.4\r\nredis_mode:standalone\r\nexecutable:/data/keydb-server\r\n# KeyDB\r\nmvcc_depth:0\r\n",
	"# Server\r\nredis_version:7.2.0\r\nredis_mode:standalone\r\nrlfunc_embedded:1\r\n", "rlfunc_embedded:1\r\nredis_version:7.2.0\r\n",
	"", "# Server\r\nos:Linux\r\n", "redis_version:\r\n", "redis_version:7.4.0\r\nvalkey_version:\r\n", "old_redis_version:7.4.0\r\nredis_version:7.2.4\r\n",
	"redis_version:7.2.4\r\nexecutable:/opt/redis_version:7.4.0\r\n", "redis_version:7.4.0\r\nexecutable:/opt/valkey_version:8.0.0\r\n",
}

// TestServers_areInTheTable keeps the table of servers, on which auto-load in all languages loads a library, or does not.
func TestServers_areInTheTable(t *testing.T) {
	type row struct {
		Requires string `json:"requires"`
		Info     string `json:"info"`
		Refusal  string `json:"refusal"` // "" if the library runs there
	}
	var rows []string
	for _, info := range infos {
		for _, field := range []string{"redis-7.4,valkey-9.0.1", "redis-999999.999999.999998"} {
			one, err := json.Marshal(row{field, info, requires.Parse(field).Refusal("shop_v1 1.0.0", serverinfo.Identify(info))})
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, string(one))
		}
	}
	keep(t, "testdata/servers.json", "[\n"+strings.Join(rows, ",\n")+"\n]\n")
}
