package loader

// The keys that deploys use on a target, all in database 0. They begin with "rlfunc:{deploy", so one pattern of an access list
// covers them. Records do not expire: [keptReleases], [keptEvents] and [maxEvent] bound them, and they do not grow with calls.
const (
	keyReleases = "rlfunc:{deploy}:releases" // hash: <server name>@<version>@<12 digits of the digest> -> Release as JSON
	keyCode     = "rlfunc:{deploy}:code"     // hash: digest -> source text
	keyHistory  = "rlfunc:{deploy}:history"  // list of Event as JSON, the newest last
	keyClients  = "rlfunc:{deploy}:clients"  // sorted set: <server name>@<version> <instance>, by server time in ms; expires
	keyLease    = "rlfunc:{deploy}:lease"    // string: the deployer that changes the target; expires
	keyLock     = "rlfunc:{deploy}:lock"     // string: the deployer that changes a node outside a cluster; expires
	keyPattern  = "rlfunc:{deploy*"
)
