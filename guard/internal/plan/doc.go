// Package plan turns a policy into what is asked about a request: rows, their constant parts packed once, and whose keys they are.
package plan
