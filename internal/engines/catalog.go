package engines

// catalog lists every engine that there could be, in the order in which tests run on them.
func catalog() []*slot {
	slots := []*slot{
		{name: "embedded", start: inProcess},
		{name: "redis-7.0", real: true, start: inContainer("redis-server", "redis:7.0")},
		{name: "redis-8.0", real: true, start: inContainer("redis-server", "redis:8.0")},
		{name: "valkey-8", real: true, start: inContainer("valkey-server", "valkey/valkey:8.1", "valkey/valkey:8.0", "valkey/valkey:8")},
		{name: "redis-8", real: true, start: inContainer("redis-server", "redis:8")},
		{name: "valkey-9", real: true, start: inContainer("valkey-server", "valkey/valkey:9")},
	}
	for _, program := range []string{"redis-server", "valkey-server"} {
		if version := onPath(program); version != "" {
			slots = append(slots, &slot{name: "path-" + program + "-" + version, real: true, start: asProgram(program)})
		}
	}
	return append(slots, &slot{name: "redis-url", real: true, open: given})
}
