package contract

import (
	"slices"
	"strconv"
	"strings"
)

// What a command costs beside its reply. The unit is about one element that it looks at.
var (
	// trims remove what is over a bound: their work is paid for by what was added before.
	trims = strings.Fields("LTRIM ZREMRANGEBYSCORE ZREMRANGEBYRANK ZREMRANGEBYLEX XTRIM DEL UNLINK")
	// whole look at all elements of their keys, whatever they reply.
	whole = strings.Fields("BITOP SUNIONSTORE SDIFFSTORE SINTERSTORE SINTERCARD ZUNIONSTORE ZINTERSTORE ZDIFFSTORE ZINTERCARD SORT SORT_RO LCS SINTER SUNION SDIFF ZINTER ZUNION ZDIFF COPY")
	// searching look for an element from an end of a list.
	searching = strings.Fields("LREM LINSERT LPOS LINDEX LSET")
	// removes are commands that remove what they name.
	removes = strings.Fields("DEL UNLINK GETDEL HDEL SREM ZREM LPOP RPOP SPOP ZPOPMIN ZPOPMAX LMPOP ZMPOP LREM SMOVE LMOVE RPOPLPUSH EXPIRE PEXPIRE EXPIREAT PEXPIREAT XDEL")
	// unordered are commands whose replies may differ between two servers, or two calls, with the same content.
	unordered = strings.Fields("SRANDMEMBER SPOP HRANDFIELD ZRANDMEMBER RANDOMKEY SMEMBERS SINTER SUNION SDIFF HGETALL HKEYS HVALS SSCAN HSCAN")
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
		most := 1 << 40
		if i := slices.IndexFunc(words, func(a string) bool { return strings.EqualFold(a, "LIMIT") }); i >= 0 && i+1 < len(words) && strings.HasSuffix(name, "CARD") {
			if n, _ := strconv.Atoi(words[i+1]); n > 0 {
				most = n
			}
		}
		for _, size := range sizes {
			w.cost += min(most, size)
		}
	case slices.Contains(searching, name):
		w.cost += searched(name, words, first)
	case strings.HasPrefix(name, "Z"):
		for i, a := range words {
			if strings.EqualFold(a, "LIMIT") && i+2 < len(words) {
				offset, _ := strconv.Atoi(words[i+1])
				w.cost += min(max(offset, 0), first) / 4
			}
		}
	}
	if name == "ZREMRANGEBYRANK" && len(words) > 3 && words[2] == "0" && words[3] == "-1" {
		w.cost += first
	}
}

// searched is how much of a list of a length a command looks at.
func searched(name string, words []string, length int) int {
	if len(words) < 3 {
		return 0
	}
	switch name {
	case "LPOS":
		for i := 3; i+1 < len(words); i += 2 {
			if n, _ := strconv.Atoi(words[i+1]); strings.EqualFold(words[i], "MAXLEN") && n > 0 {
				return min(n, length)
			}
		}
	case "LINDEX", "LSET":
		i, _ := strconv.Atoi(words[2])
		if i < 0 {
			i += length
		}
		return max(0, min(i, length-i)) / 8
	}
	return length
}
