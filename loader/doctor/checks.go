package doctor

import (
	"fmt"
	"strconv"
	"time"
)

// A check examines the facts of one node.
type check struct {
	id       string
	severity Severity
	look     func(f facts) string // the problem, or ""
	fix      string
}

// skew is the difference of clocks from which windows are noticeably wrong.
const skew = time.Second

var checks = []check{
	{
		id: "bits", severity: Problem,
		look: func(f facts) string {
			if f.info["arch_bits"] == "32" {
				return "it is a 32-bit build: Lua's %d truncates numbers above 2^31, so times and amounts that libraries store are wrong"
			}
			return ""
		},
		fix: "run a 64-bit build",
	},
	{
		id: "busy", severity: Problem,
		look: func(f facts) string {
			if f.running == "" || f.since < time.Second {
				return ""
			}
			return fmt.Sprintf("%s has been running for %.1f s, and the server answers nothing else meanwhile", f.running, f.since.Seconds())
		},
		fix: "FUNCTION KILL ends it if it has not written yet; otherwise only SHUTDOWN NOSAVE does",
	},
	{
		id: "replica-link", severity: Problem,
		look: func(f facts) string {
			if f.info["master_link_status"] == "down" {
				return "it has lost its primary: deploys do not reach it, and if it is promoted it may lack libraries"
			}
			return ""
		},
		fix: "see the server's log; when the link is up again, run rlfunc verify",
	},
	{
		id: "not-saving", severity: Warn,
		look: func(f facts) string {
			if f.info["rdb_last_bgsave_status"] == "err" {
				return "the last snapshot failed" + writesStop(f)
			}
			if f.info["aof_last_write_status"] == "err" {
				return "the last write to the append-only file failed" + writesStop(f)
			}
			return ""
		},
		fix: "see the server's log and the disk",
	},
	{
		id: "clients", severity: Warn,
		look: func(f facts) string {
			most, have := number(f.config["maxclients"]), number(f.info["connected_clients"])
			if most == 0 || have*5 < most*4 {
				return ""
			}
			return fmt.Sprintf("%d of %d connections are in use; the server refuses clients beyond that", have, most)
		},
		fix: "raise maxclients, or lower the pools of the services",
	},
	{
		id: "clock", severity: Warn,
		look: func(f facts) string {
			apart := f.ahead.Abs() - f.uncertainty
			if !f.clockKnown || apart < skew {
				return ""
			}
			side := "ahead of"
			if f.ahead < 0 {
				side = "behind"
			}
			return fmt.Sprintf("its clock is %.1f s %s this machine's: after a failover windows are longer or shorter by the difference", f.ahead.Abs().Seconds(), side)
		},
		fix: "run an NTP client on the server (and on this machine)",
	},
	{
		id: "threshold", severity: Note,
		look: func(f facts) string {
			if ms := number(f.config["busy-reply-threshold"]); ms > 5000 {
				return fmt.Sprintf("a function may block the server for %d s before clients get BUSY", ms/1000)
			}
			return ""
		},
		fix: "CONFIG SET busy-reply-threshold 5000, or less",
	},
	{
		id: "open", severity: Warn,
		look: func(f facts) string {
			if f.open && f.config["protected-mode"] != "yes" {
				return "any client that reaches the port may run every command without a password: replace functions, reset limits"
			}
			return ""
		},
		fix: "give the default user a password or switch it off, and each job its own user (rlfunc acl)",
	},
}

func writesStop(f facts) string {
	if f.config["stop-writes-on-bgsave-error"] == "no" {
		return ""
	}
	return ", and the server refuses writes, and with them most calls (MISCONF)"
}

// number parses a whole number, or returns 0.
func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64) // missing and malformed both mean that there is nothing to check
	return n
}
