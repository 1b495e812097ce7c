// Package decide compiles a policy, asks Redis about each request behind circuit breakers, applies failure modes, and keeps what requests hold.
package decide
