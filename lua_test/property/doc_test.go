// Package property_test holds the functions against models in plain Go (package model). Its tests draw histories of calls and moves
// of the clock, ask the model, and play each history on every engine:
//
//   - TestProperty: every field of every reply, each key's presence and the millisecond in which it expires, and every byte
//     where nothing may change are as the model says; an invariant that knows no model holds; one tick before its
//     retry_after a refused call is refused again, and at it passes.
//   - TestLinearizable: the answers to concurrent callers, while the clock goes on, are those of the model in some order.
//
// go test tries some hundred histories; make soak goes on for RLFUNC_SOAK, a duration in all or a number of histories
// each, and prints how much was checked. A failure prints the shortest history that was found, and how to run it again.
//
// To add functions that share a state:
//
//  1. Write their model in ../internal/model/NAME.go, from the specification and the headers, not from the Lua: Move, Clone,
//     Expiries (by key suffix, in unix milliseconds), and one method for each function, which also reports whether a key may
//     have changed. Give its results the field names and types of the generated ones: they convert. Methods never change
//     stored values in place, so that Clone is cheap.
//  2. Write a family in NAME_test.go, as sliding_log_test.go has it: its keys (suffix and type), how the limits of a history
//     and then its calls are drawn, for each function a call that joins the generated Queue method (by queued) to the
//     model's, and perhaps an invariant. An answer says what the model knows: the reply or the error, changed, and of a
//     refused call retry and tick, which are then probed.
//  3. Add the family to families in main_test.go, and a legal call of each function to wireCalls in ../wire/calls_test.go: a
//     function without one fails a test.
package property_test
