package spec

import "github.com/rlfunc/rlfunc/internal/requires"

// A Server is a product, "redis" or "valkey", and the least version of it that a library runs on.
type Server = requires.Server

// Servers are what a library requires: one of them. None means Redis 7.0 and every version of Valkey.
type Servers = requires.Servers
