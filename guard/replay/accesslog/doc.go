// Package accesslog reads access logs, line by line: Apache's and nginx's common and combined formats, and JSON lines as
// nginx, Caddy, Traefik and services write them.
//
// A [Reader] unpacks gzip and tells the format by itself. A line that it can not read is a [Bad] one, with its number and why;
// it ends nothing.
package accesslog
