// Package policy reads and checks a policy: which requests of a service are limited, who is counted, and how many may pass. A [Policy] is a
// YAML file or a Go struct:
//
//	version: 1
//	identities:
//	  key: {header: X-API-Key, verify: {sha256_file: keys.txt}}
//	  client: {first: [key, ip]}
//	endpoints:
//	  - name: search
//	    match: ["GET /v1/search"]
//	    limits:
//	      - {name: minute, limit: 60, window: 1m}
//	      - {name: address, by: ip, kind: gcra, limit: 10, window: 1s}
//
// Most services only call [Load] and leave the rest to package guard, whose Guard.Watch follows a file that changes. [Parse] reads text, and
// [Policy.Check] checks a struct. Each returns all problems at once, as an [*Error] with lines of the form file:line:col: path: message.
// [Policy.Complete] fills in the defaults.
//
// # Concepts
//
//   - An identity is a named answer to "who is this?", such as ip or key. A subject is an identity with its value: key=partner.
//   - A verified identity is one whose value clients cannot choose: an address, a known key, a signed token. Others are claimed.
//   - A limit counts the subject of its identities, by default of client. A limit by all is global: it counts all requests.
//   - An endpoint must have a limit by verified identities or a global limit, or must set unbounded: true.
//   - A shadow limit counts and logs, and never refuses.
//
// Durations are Go's (1m30s) or whole days (30d). Money is decimal text or a number, exact to a millionth: 5, "0.000001".
// docs/reference/policy.md describes each key; [Schema] is for editors.
package policy
