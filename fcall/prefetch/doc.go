// Package prefetch takes tokens of a hot limit in batches, and hands them out in the process.
//
// A global limit is one key on one server, and each request costs a round trip to it. A [Limiter] takes several tokens in one call, at
// most Options.Most, and as many as the process is likely to use. While it is quiet it takes one at a time, as a direct call would. Tokens
// that it did not use within Options.For are refunded.
//
// These bounds hold for all processes together, also when processes crash and calls fail:
//
//   - [FixedWindow] and [Quota] are exact: no window or period admits more than its limit, because tokens end with it.
//   - [GCRA] admits at most burst + rate x (T + Options.For) in any time T. Tokens are used within two fifths of Options.For, and a
//     refund counts within three fifths.
//   - A process that dies, or whose call or refund fails, loses at most Options.Most tokens.
//
// Tokens end by the monotonic clock of the process, so a wrong wall clock changes nothing. If the server's clock jumps ahead, tokens
// that were taken before are used for at most Options.For after that.
package prefetch
