// Package contract holds, so far, only what a checker is to be measured with: 80 functions of domains that this project does not cover, of which 40 are
// right and 40 have one fault each. The checker itself, which is to run functions and hold what they do against their headers, is not here yet.
package contract
