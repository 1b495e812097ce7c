// Package adapter runs the calls of generated clients over a client library other than go-redis.
//
// The modules adapters/rueidis and adapters/valkeygo are such adapters. Another library needs a [Sender].
package adapter
