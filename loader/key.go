package loader

import (
	"slices"
	"strconv"
	"strings"
)

// What a deploy keeps on a target. The names are here and nowhere else. All begin with "rlfunc:{deploy", so that a pattern of an
// access list covers them, and all are in database 0. The records have no expiry: they are an operator's, bounded by [keptReleases], [keptEvents]
// and [maxEvent], and do not grow with callers.
const (
	keyReleases = "rlfunc:{deploy}:releases" // hash: <server name>@<version>@<12 digits of the digest> -> Release as JSON
	keyCode     = "rlfunc:{deploy}:code"     // hash: digest -> source text
	keyHistory  = "rlfunc:{deploy}:history"  // list of Event as JSON, the newest at the end
	keyClients  = "rlfunc:{deploy}:clients"  // sorted set: <server name>@<version> <instance>, by server time in ms; expires
	keyLease    = "rlfunc:{deploy}:lease"    // string: who changes the target; expires
	keyPattern  = "rlfunc:{deploy*"
)

// lockKey is the lock's name on a node. A node of a cluster takes only keys of its own slots, so each primary has a number of its own.
func lockKey(number int) string {
	if number < 0 {
		return "rlfunc:{deploy}:lock"
	}
	return "rlfunc:{deploy:" + strconv.Itoa(number) + "}:lock"
}

const hashSlots = 16384

// lockNumber is the smallest number whose lock key is in one of the slots; false without slots.
func lockNumber(owned []slotRange) (int, bool) {
	if len(owned) == 0 {
		return 0, false
	}
	// The numbers spread evenly: of 16,384 slots an owner of one is met after so many numbers on the average, and of e^64 owners
	// one is not met within 64 times as many.
	for n := range 64 * hashSlots {
		slot := int(crc16("deploy:"+strconv.Itoa(n))) % hashSlots
		for _, r := range owned {
			if r.first <= slot && slot <= r.last {
				return n, true
			}
		}
	}
	return 0, false
}

// ownSlots reads which slots a node owns for good, from its own CLUSTER NODES. A key of a slot that comes or goes may be at either end.
func ownSlots(text string) ([]slotRange, error) {
	nodes, err := readClusterNodes(text)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(nodes, func(n clusterNode) bool { return n.is("myself") })
	if i < 0 {
		return nil, listError("the list of the cluster's nodes does not say which one is its own")
	}
	moving := map[int]bool{}
	for _, m := range nodes[i].moving {
		number, _, _ := strings.Cut(m, " ")
		if slot, err := strconv.Atoi(number); err == nil {
			moving[slot] = true
		}
	}
	return without(nodes[i].slots, moving), nil
}

// without takes single slots out of ranges.
func without(ranges []slotRange, out map[int]bool) []slotRange {
	if len(out) == 0 {
		return ranges
	}
	var left []slotRange
	for _, r := range ranges {
		first := r.first
		for slot := r.first; slot <= r.last; slot++ {
			if out[slot] {
				if first < slot {
					left = append(left, slotRange{first, slot - 1})
				}
				first = slot + 1
			}
		}
		if first <= r.last {
			left = append(left, slotRange{first, r.last})
		}
	}
	return left
}

// crc16 is the checksum of key slots (CRC-16/XMODEM, the cluster specification's appendix A).
func crc16(s string) uint16 {
	var crc uint16
	for i := range len(s) {
		crc ^= uint16(s[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc
}
