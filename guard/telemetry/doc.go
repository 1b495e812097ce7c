// Package telemetry tells what a guard does: metrics and spans for OpenTelemetry, records for slog.
//
//	told, err := telemetry.New(telemetry.Options{})
//	g, err := guard.New(rdb, p, guard.Options{Hooks: []guard.Hooks{told.Hooks()}})
//
// The table of all instruments, spans and records is docs/telemetry.md.
//
// No subject is ever a label, and endpoints and limits are named by the policy alone: what a caller sends makes no new series. Spans
// and records show of a subject its first characters and a keyed hash.
//
// A record of a refusal or a failure is written at most once a second for each endpoint and reason, with the number of those that were
// left out since: an attacker does not fill a disk.
//
// Package telemetry/prometheus serves the metrics to Prometheus; who does not import it does not link it.
package telemetry
