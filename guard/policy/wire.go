package policy

// Everybody begins the subjects that limits of everybody are kept for: global/all.
const Everybody = "global/"

// WireName is what a limit is called in Redis: its name, behind that of the endpoint whose it is: chat/minute. An endpoint of "" is
// the whole policy.
func WireName(endpoint, name string) string {
	if endpoint == "" {
		return name
	}
	return endpoint + "/" + name
}
