package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/embedded/internal/luahost"
	"github.com/rlfunc/rlfunc/embedded/internal/resp"
)

// Version is the release of Redis that INFO and HELLO claim: the one whose functions behave most like the ones here.
const Version = luahost.Version

var serverCommands = []Command{
	{Name: "time", Arity: 1, Run: timeNow},
	{Name: "info", Arity: -1, Run: info},
	{Name: "role", Arity: 1, Flags: NoScript, Run: role},
	{Name: "wait", Arity: 3, Flags: NoScript, Run: wait},
	{Name: "cluster", Arity: -2, Run: noCluster},
	{Name: "acl", Arity: -2, Flags: NoScript},
	{Name: "acl|whoami", Arity: 2, Flags: NoScript, Run: func(*Call) resp.Value { return bulk("default") }},
	{Name: "config", Arity: -2, Flags: NoScript},
	{Name: "config|get", Arity: -3, Flags: NoScript, Run: configGet},
	{Name: "config|set", Arity: -4, Flags: NoScript, Run: configSet},
	{Name: "config|resetstat", Arity: 2, Flags: NoScript, Run: configResetStat},
}

func timeNow(c *Call) resp.Value {
	seconds := c.Micros / 1_000_000
	return array([]resp.Value{bulk(itoa(seconds)), bulk(itoa(c.Micros - seconds*1_000_000))})
}

func role(*Call) resp.Value {
	return array([]resp.Value{bulk("master"), zero, none})
}

// wait answers at once: there are no replicas.
func wait(c *Call) resp.Value {
	if _, valid := parseInt(c.Args[1]); !valid {
		return errNotInt
	}
	if n, valid := parseInt(c.Args[2]); !valid {
		return failure("ERR timeout is not an integer or out of range")
	} else if n < 0 {
		return failure("ERR timeout is negative")
	}
	return zero
}

func noCluster(*Call) resp.Value {
	return failure("ERR This instance has cluster support disabled")
}

type infoSection struct {
	name  string
	write func(c *Call, b *strings.Builder)
}

// infoSections are the sections of INFO. Commandstats is not among those that a plain INFO shows.
var infoSections = []infoSection{
	{"Server", func(c *Call, b *strings.Builder) {
		line(b, "redis_version", Version)
		line(b, "redis_mode", "standalone")
		line(b, "rlfunc_embedded", 1)
		line(b, "process_id", 0)
		line(b, "run_id", c.State.runID)
		line(b, "tcp_port", 0)
		line(b, "server_time_usec", c.Micros)
		line(b, "uptime_in_seconds", (c.Micros-c.State.started.UnixMicro())/1_000_000)
	}},
	{"Clients", func(c *Call, b *strings.Builder) {
		line(b, "connected_clients", len(c.State.sessions))
		line(b, "maxclients", c.State.MaxClients.Load())
	}},
	{"Memory", func(c *Call, b *strings.Builder) {
		used := c.State.UsedMemory()
		line(b, "used_memory", used)
		line(b, "used_memory_dataset", used-baseMemory)
		line(b, "maxmemory", c.State.maxMemory)
		line(b, "maxmemory_policy", c.State.config["maxmemory-policy"])
		line(b, "number_of_functions", c.State.Functions.Len())
		line(b, "number_of_libraries", len(c.State.Functions.Libraries()))
	}},
	{"Persistence", func(_ *Call, b *strings.Builder) {
		line(b, "loading", 0)
		line(b, "rdb_bgsave_in_progress", 0)
		line(b, "aof_enabled", 0)
	}},
	{"Stats", func(c *Call, b *strings.Builder) {
		expired, evicted := int64(0), int64(0)
		for i := range c.State.DBs {
			expired += c.State.DBs[i].Expired()
			evicted += c.State.DBs[i].Evicted()
		}
		line(b, "total_connections_received", c.State.nextID)
		line(b, "total_commands_processed", c.State.processed)
		line(b, "rejected_connections", c.State.Rejected.Load())
		line(b, "expired_keys", expired)
		line(b, "evicted_keys", evicted)
		line(b, "client_query_buffer_limit_disconnections", c.State.Limits.QueryClosed.Load())
		line(b, "client_output_buffer_limit_disconnections", c.State.Limits.OutputClosed.Load())
	}},
	{"Replication", func(_ *Call, b *strings.Builder) {
		line(b, "role", "master")
		line(b, "connected_slaves", 0)
		line(b, "master_repl_offset", 0)
	}},
	{"Commandstats", infoCommandstats},
	{"Cluster", func(_ *Call, b *strings.Builder) { line(b, "cluster_enabled", 0) }},
	{"Keyspace", func(c *Call, b *strings.Builder) {
		for i := range c.State.DBs {
			if db := &c.State.DBs[i]; db.Len() > 0 {
				line(b, fmt.Sprintf("db%d", i), fmt.Sprintf("keys=%d,expires=%d,avg_ttl=0", db.Len(), db.Volatile()))
			}
		}
	}},
}

func line(b *strings.Builder, name string, value any) {
	fmt.Fprintf(b, "%s:%v\r\n", name, value)
}

func info(c *Call) resp.Value {
	wanted := make([]string, 0, len(c.Args))
	for _, section := range c.Args[1:] {
		wanted = append(wanted, lower(section))
	}
	all := slices.Contains(wanted, "all") || slices.Contains(wanted, "everything")
	usual := len(wanted) == 0 || slices.Contains(wanted, "default")
	var b strings.Builder
	for _, section := range infoSections {
		if !all && !slices.Contains(wanted, lower(section.name)) && (!usual || section.name == "Commandstats") {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString("# " + section.name + "\r\n")
		section.write(c, &b)
	}
	return document(b.String())
}

// usage counts the calls of a command since CONFIG RESETSTAT.
type usage struct {
	calls, rejected, failed int64
}

func (u usage) String() string {
	return fmt.Sprintf("calls=%d,rejected_calls=%d,failed_calls=%d", u.calls, u.rejected, u.failed)
}

// reject counts an error before a command ran. cmd is nil if there is none.
func (s *State) reject(cmd *Command) {
	if cmd != nil {
		s.used[cmd.index].rejected++
	}
}

func infoCommandstats(c *Call, b *strings.Builder) {
	for _, cmd := range rows {
		if u := c.State.used[cmd.index]; u != (usage{}) {
			line(b, "cmdstat_"+cmd.Name, u)
		}
	}
}
