// Package serve is the process behind `rlfunc serve`: a policy for proxies and for services in any language.
//
// One port answers gRPC: Envoy's rate limit service (package envoyguard) and grpc.health.v1. Another one answers HTTP:
//
//	/forward-auth  for proxies: see httpguard's ForwardAuth
//	/livez         200 while the process runs
//	/readyz        200 while the process takes requests; else 503 with the reason
//	/metrics       for Prometheus
//
// A port of its own, off by default, answers only the probes /livez and /readyz, so that connections of proxies do not take their places.
//
// Another port, off by default, is for programs: a JSON API that decides, settles, refunds, issues challenges and shows subjects. openapi.json
// describes it. It needs bearer tokens unless it is a loopback address.
//
// Metrics are also pushed by OTLP over HTTP if the environment has OTEL_EXPORTER_OTLP_ENDPOINT; see docs/serve.md.
//
// A process is ready once Redis has run a function of the library that decides. After that the policy's failure modes decide while Redis
// cannot, so an outage of Redis does not take the process out of its load balancer; /readyz says that they do. It is not ready while it
// drains.
//
// The ports are TCP ports or Unix sockets: see Listen. Another process can take over the sockets.
//
// When its context ends, or another process has taken over, Run reports "not ready" immediately, answers for Options.Delay longer, then
// finishes the requests in flight for at most Options.Drain.
package serve
