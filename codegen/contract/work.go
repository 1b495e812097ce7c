package contract

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// What a command costs beside its reply. The unit is about one element that it looks at.
var (
	// trims remove what is over a bound: their work is paid for by what was added before.
	trims = strings.Fields("LTRIM ZREMRANGEBYSCORE ZREMRANGEBYRANK ZREMRANGEBYLEX XTRIM DEL UNLINK")
	// whole look at all elements of their keys, whatever they reply.
	whole = strings.Fields("ZRANGESTORE BITOP SUNIONSTORE SDIFFSTORE SINTERSTORE SINTERCARD ZUNIONSTORE ZINTERSTORE ZDIFFSTORE ZINTERCARD SINTER SUNION SDIFF ZINTER ZUNION ZDIFF COPY")
	// removes are commands that remove what they name.
	removes = strings.Fields("DEL UNLINK GETDEL HDEL SREM ZREM LPOP RPOP SPOP ZPOPMIN ZPOPMAX LMPOP ZMPOP LREM SMOVE LMOVE RPOPLPUSH EXPIRE PEXPIRE EXPIREAT PEXPIREAT XDEL")
	// drawn are commands whose replies may differ between two calls with the same content, and unordered those of which only the order may, on
	// another server.
	drawn     = strings.Fields("SRANDMEMBER SPOP HRANDFIELD ZRANDMEMBER RANDOMKEY SSCAN HSCAN")
	unordered = strings.Fields("SMEMBERS SINTER SUNION SDIFF HGETALL HKEYS HVALS")
)

// work adds what a command costs by its arguments and the sizes of its keys.
func (w *watch) work(name string, words []string, sizes []int) {
	texts := 0
	for _, a := range words[1:] {
		texts += len(a)
	}
	w.cost += texts / 256
	if !w.last.trims {
		w.cost += len(words) / 8
	}
	first := 0
	if len(sizes) > 0 {
		first = sizes[0]
	}
	switch {
	case slices.Contains(whole, name):
		most := math.MaxInt
		if i := slices.IndexFunc(words, func(a string) bool { return strings.EqualFold(a, "LIMIT") }); i >= 0 && i+1 < len(words) && strings.HasSuffix(name, "CARD") {
			if n, _ := strconv.Atoi(words[i+1]); n > 0 {
				most = n
			}
		}
		for _, size := range sizes {
			w.cost += min(most, size)
		}
	case len(name) > 1 && name[0] == 'L': // of a list the size is what the command looks at
		w.cost += first
	}
}

// expires reports whether a command sets an expiry that may be over. SET does so only with a time, and only if it writes for sure.
func expires(name string, words []string) bool {
	switch name {
	case "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "GETEX":
		return true
	case "SET":
		has := func(option string) bool {
			return slices.ContainsFunc(words[min(3, len(words)):], func(a string) bool { return strings.EqualFold(a, option) })
		}
		return (has("PXAT") || has("EXAT")) && !has("NX") && !has("XX")
	}
	return false
}

// heavy is the line of the command that makes a call expensive; 0 if no single one does.
func (w *watch) heavy() int {
	if 2*w.heaviest[0] < w.cost {
		return 0
	}
	return w.heaviest[1]
}

// elementsOf are the words of a command that may name elements of its first key.
func elementsOf(name string, words []string) []string {
	switch {
	case len(words) < 3:
		return nil
	case name == "HSETNX", name == "HINCRBY", name == "HINCRBYFLOAT":
		return words[2:3]
	case name == "HSET", name == "HMSET":
		var fields []string
		for i := 2; i < len(words); i += 2 {
			fields = append(fields, words[i])
		}
		return fields
	}
	return words[2:]
}
