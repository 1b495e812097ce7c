package policy

// GlobalPrefix begins the subjects that limits by: all are kept for: global/all.
const GlobalPrefix = "global/"

// OverridesBucket is the bucket of library override for a namespace: no request has it as a subject.
const OverridesBucket = "overrides"

// WireName is what a limit is called in Redis: its name, behind that of the endpoint whose it is: chat/minute. An endpoint of "" is
// the whole policy.
func WireName(endpoint, name string) string {
	if endpoint == "" {
		return name
	}
	return endpoint + "/" + name
}
