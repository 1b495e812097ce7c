// Package accesslog reads the requests of access logs: the common and combined formats of Apache and nginx, and JSON lines of
// nginx, Caddy, Traefik and services.
//
//	r, err := accesslog.NewReader(file, accesslog.Options{})
//	...
//	for {
//		block, err := r.Next()
//		if err == io.EOF {
//			break
//		}
//		...
//	}
//
// A [Reader] detects the format and decompresses gzip. It returns an invalid line as a [Bad] with its number and the reason, and
// continues. [ParseFields] maps the fields of other JSON logs.
package accesslog
