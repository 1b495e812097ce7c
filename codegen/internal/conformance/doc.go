// Package conformance holds a library of every shape that the dialect can express, generated and run on every engine.
package conformance
