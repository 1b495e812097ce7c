// Package report reports to `rlfunc top` which subjects a guard refuses most, and which limits refuse.
//
//	reporter, err := report.New(rdb, report.Options{Namespace: "chat"})
//	...
//	defer reporter.Close()
//	g, err := guard.New(rdb, p, guard.Options{Hooks: []guard.Hooks{reporter.Hooks()}})
//
// A [Reporter] counts in this process. At each interval it writes an [Interval] to Redis in the background, in one pipeline, under
// <namespace>:{report}:<process>. The key expires after three intervals. Requests never wait for a report, and only
// Options.OnError sees errors. [Read] and [Merge] return the counts of all processes.
//
// Memory is bounded by the space-saving algorithm (Metwally, Agrawal, El Abbadi, 2005): the most frequent subjects are always
// counted, and each [Count] says by how much it may be too high. Guards also use the number of reporting processes: without Redis,
// each admits an even part of a limit if that is more than its share.
package report
