// Package report tells operators which subjects a guard refuses most and which limits refuse, for `rlfunc top`.
//
// A [Reporter]'s Hooks count in this process, by the space-saving algorithm (Metwally, Agrawal, El Abbadi, 2005): a bounded number of
// subjects, of which the most frequent are surely kept; a count may be too high by at most the error that is told with it. Each interval what was counted is
// written to Redis in the background, in one pipeline, and expires soon after: <namespace>:{report}:<process>. A request never
// waits for it. Writing fails quietly but for OnError: a guard without Redis has other worries.
package report
