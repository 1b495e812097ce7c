// Package admit sends the calls of a decision to Redis, within a deadline. It refunds or keeps what late answers charged.
package admit
