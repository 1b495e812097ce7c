// Package conformance holds a library of every shape that the dialect can express. Its tests generate the client and run it on every engine.
package conformance
