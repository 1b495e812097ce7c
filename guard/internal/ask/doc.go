// Package ask puts the calls of a question to Redis, within a time, and knows what an answer is worth that comes too late.
package ask
