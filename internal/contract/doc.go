// Package contract holds what a checker of functions will be measured with: 80 functions of domains that this project does not cover, of which
// 40 have one fault each (testdata/unseen), and ports of public scripts, which have none (testdata/ports). The checker, which is to run
// functions and compare what they do with their headers, is not here yet.
package contract
