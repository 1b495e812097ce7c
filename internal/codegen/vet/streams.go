package vet

import "github.com/yuin/gopher-lua/ast"

// streamReply returns the reply of a command on a stream.
func (r *run) streamReply(s *state, e *ast.FuncCallExpr, name string, args []value) value {
	text := value{kinds: isStr, taint: fromStore}
	maybe := value{kinds: isStr | isFalse, taint: fromStore}
	table := func(n int, items ...value) value { return r.newObject(s, inner{e, n}, &object{items: items}) }
	list := func(n int, elem value) value {
		v := r.newObject(s, inner{e, n}, &object{elem: &elem})
		v.reads = true
		return v
	}
	entry := func(deleted kind) value { // an ID and its fields, or false if the entry was deleted
		fields := list(1, text)
		fields.kinds |= deleted
		return table(2, text, fields)
	}
	switch name {
	case "XADD":
		if hasWord(args, "NOMKSTREAM") {
			return maybe
		}
		return text
	case "XRANGE", "XREVRANGE":
		return list(3, entry(0))
	case "XREAD", "XREADGROUP":
		all := r.newObject(s, e, &object{items: []value{table(4, text, list(3, entry(isFalse)))}})
		all.kinds |= isFalse
		return all
	case "XCLAIM", "XAUTOCLAIM":
		claimed := list(3, entry(0))
		if hasWord(args, "JUSTID") {
			claimed = list(3, text)
		}
		if name == "XAUTOCLAIM" {
			return table(4, text, claimed, list(5, text))
		}
		return claimed
	case "XPENDING":
		if len(args) > 2 {
			return list(3, table(2, text, text, of(isInt), of(isInt)))
		}
		consumers := list(3, table(2, text, text))
		consumers.kinds |= isFalse
		return table(4, value{kinds: isInt, content: true, in: nonNegative}, maybe, maybe, consumers)
	}
	return unknown()
}

// stream checks a command on a stream that the tables of commands and forms cannot describe.
func (r *run) stream(s *state, e *ast.FuncCallExpr, name string, args []value, keys []int, protected bool) {
	switch name {
	case "XREAD", "XREADGROUP":
		if wordFrom(0, args, "BLOCK") >= 0 {
			r.report(r.at(e), RuleRefusedCommand, "%s with BLOCK is refused in a function, which holds the whole server: remove BLOCK, and let the client call again", name)
		}
	case "XADD", "XTRIM":
		if hasWord(args, "LIMIT") && !hasWord(args, "~") {
			r.report(r.at(e), RuleCommandForm, "%s takes LIMIT only with ~, as MAXLEN ~ 1000 LIMIT 100", name)
		}
	}
	for _, i := range keys {
		for _, key := range args[i].keys() {
			r.group(s, e, name, args, key, protected)
		}
	}
}

// group checks that a consumer group exists where a command needs one, and notes that it was made.
func (r *run) group(s *state, e *ast.FuncCallExpr, name string, args []value, key string, protected bool) {
	safe := protected || r.caught()
	switch name {
	case "XGROUP":
		if wordFrom(0, args[:1], "CREATE") < 0 {
			return
		}
		if !safe && r.reportOnce(r.at(e), RuleStreamGroup) {
			r.report(r.at(e), RuleStreamGroup, "XGROUP CREATE raises BUSYGROUP from the second call on: write redis.pcall('XGROUP', 'CREATE', ...), whose error then says that the group exists")
		}
		if t := s.ttl.at(key); !t.group {
			t.group = true
			s.ttl = s.ttl.with(key, t)
		}
	case "XREADGROUP", "XPENDING", "XCLAIM", "XAUTOCLAIM":
		if !safe && !s.ttl.at(key).group && r.reportOnce(r.at(e), RuleStreamGroup) {
			r.report(r.at(e), RuleStreamGroup, "%s raises NOGROUP while %s has no such group, as after its expiry: create it before with redis.pcall('XGROUP', 'CREATE', %s, group, '0', 'MKSTREAM')", name, key, key)
		}
	}
}

var streamRules = []Rule{{
	ID:     RuleStreamGroup,
	Checks: "Checks that a consumer group exists where a command needs it, and that XGROUP CREATE may find one.",
	Why:    "XREADGROUP, XPENDING, XCLAIM and XAUTOCLAIM raise NOGROUP if the stream or its group is missing, and XGROUP CREATE raises BUSYGROUP if it exists.",
	Bad: deliver(
		"local read = redis.call('XREADGROUP', 'GROUP', 'workers', consumer, 'COUNT', 1, 'STREAMS', jobs, '>')",
		"return read and #read[1][2] or 0",
	),
	Good: deliver(
		"redis.pcall('XGROUP', 'CREATE', jobs, 'workers', '0', 'MKSTREAM')",
		"redis.call('PEXPIRE', jobs, 86400000)",
		"local read = redis.call('XREADGROUP', 'GROUP', 'workers', consumer, 'COUNT', 1, 'STREAMS', jobs, '>')",
		"return read and #read[1][2] or 0",
	),
}}

// deliver returns an example that reads a stream.
func deliver(body ...string) string {
	return example([]string{
		"--- Delivers a job.",
		"--- @key    jobs     stream[jobs] the jobs",
		"--- @arg    consumer text[64]     who gets it",
		"--- @result jobs     count        jobs delivered",
		"local function deliver(jobs, consumer)",
	}, body)
}
