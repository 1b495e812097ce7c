// Package servers knows what a server is, by INFO and by its hash slots.
package servers

import (
	"cmp"
	"strings"
)

// A Server is a product and its version.
type Server struct {
	Product string `json:"product"` // "redis" or "valkey", or another
	Version string `json:"version"` // "7.2"
}

// Embedded is the product of the embedded engine.
const Embedded = "embedded"

// ProductName is like "Redis" for "redis". Others stay as they are.
func ProductName(product string) string {
	return cmp.Or(map[string]string{"redis": "Redis", "valkey": "Valkey"}[product], product)
}

// String is like "Redis 7.2".
func (s Server) String() string {
	if s.Product == "" {
		return "a server of unknown version"
	}
	return strings.TrimSpace(ProductName(s.Product) + " " + s.Version)
}

// Info returns the fields of INFO's text.
func Info(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

// products have their versions in fields such as valkey_version. Redis is last: the others have a redis_version too, for old clients.
var products = []string{"Valkey", "Dragonfly", "Kvrocks", "Garnet", "Redis"}

// Identify returns the product and the version of a server, "Valkey" and "8.1.1", by INFO's text. Both are empty if it has no version.
func Identify(text string) Server {
	field := Info(text)
	for _, product := range products {
		if version := field[strings.ToLower(product)+"_version"]; version != "" {
			if field["rlfunc_embedded"] != "" {
				product = Embedded
			}
			return Server{Product: product, Version: version}
		}
	}
	return Server{}
}

// Slots is the number of hash slots of a cluster.
const Slots = 16384

// Slot returns the hash slot of a key in a cluster: of its hash tag, the text between the first { and the next }, unless that is empty.
func Slot(key string) int {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			key = tag
		}
	}
	return int(crc16(key)) % Slots
}

// crc16 is CRC-16/XMODEM.
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
