// Package plan compiles a policy into rows and packed constants, and builds the calls of each request from them.
package plan
