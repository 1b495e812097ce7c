// Package telemetry exports what a guard does: metrics to OpenTelemetry, log records to slog.
//
//	exported, err := telemetry.New(telemetry.Options{})
//	g, err := guard.New(rdb, p, guard.Options{Observers: []guard.Observer{exported.Observe}})
//
// docs/reference/telemetry.md lists all instruments, attributes and records. Package telemetry/prometheus serves the metrics to
// Prometheus.
//
// # Concepts
//
//   - Series are bounded: labels hold names of the policy, and never a subject or other text of a client.
//   - Records show a subject as its first characters and a keyed hash: ip=203....#8f3a90c1d2e4.
//   - Records of refusals and failures are sampled: one a second for each endpoint and reason, with the number skipped since
//     the last one. So an attacker cannot fill the disk. Metrics count everything.
package telemetry
