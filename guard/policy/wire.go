package policy

// GlobalPrefix begins the subjects that limits by: all are kept for: global/all.
const GlobalPrefix = "global/"

// WireName is what a limit is called in Redis: its name, behind that of the endpoint whose it is: chat/minute. An endpoint of "" is
// the whole policy.
func WireName(endpoint, name string) string {
	if endpoint == "" {
		return name
	}
	return endpoint + "/" + name
}
