package httpguard

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// originalRequest returns the request that a proxy describes by its headers.
func originalRequest(r *http.Request) (*http.Request, error) {
	prefix := "X-Forwarded-"
	if r.Header["X-Original-Method"] != nil || r.Header["X-Original-Uri"] != nil || r.Header["X-Original-Url"] != nil {
		prefix = "X-Original-"
		if r.Header["X-Forwarded-Method"] != nil || r.Header["X-Forwarded-Uri"] != nil {
			return nil, errors.New("headers of two kinds of proxies describe the request")
		}
	}
	method, err := only(r.Header, prefix+"Method")
	if err != nil {
		return nil, err
	}
	u, host, err := originalURL(r.Header, prefix)
	if err != nil {
		return nil, err
	}
	original := r.WithContext(r.Context()) // a copy
	original.Method, original.URL, original.Host, original.RequestURI = method, u, host, u.RequestURI()
	original.Body, original.ContentLength, original.TransferEncoding = io.NopCloser(strings.NewReader("")), 0, nil
	original.TLS = nil // the certificate is the proxy's
	return original, nil
}

// originalURL returns the URL, in origin form, and the host of the request.
func originalURL(header http.Header, prefix string) (*url.URL, string, error) {
	const absolute = "X-Original-Url"
	if prefix == "X-Original-" && header[absolute] != nil {
		if header["X-Original-Uri"] != nil || header["X-Original-Host"] != nil {
			return nil, "", errors.New("headers of two kinds of proxies describe the request")
		}
		text, err := only(header, absolute)
		if err != nil {
			return nil, "", err
		}
		_, rest, _ := strings.Cut(text, "://")
		end := strings.IndexAny(rest, "/?#")
		if end <= 0 {
			return nil, "", fmt.Errorf("%s is not an absolute URL: %.64q", absolute, text)
		}
		u, err := parseURI(absolute, rest[end:])
		return u, rest[:end], err
	}
	host, err := only(header, prefix+"Host")
	if err != nil {
		return nil, "", err
	}
	text, err := only(header, prefix+"Uri")
	if err != nil {
		return nil, "", err
	}
	u, err := parseURI(prefix+"Uri", text)
	return u, host, err
}

// parseURI parses the path and query of a header.
func parseURI(name, text string) (*url.URL, error) {
	if text[0] != '/' {
		return nil, fmt.Errorf("%s has no path: %.64q", name, text)
	}
	if strings.Contains(text, "#") {
		// Services that drop a fragment would serve another path than guard matches.
		return nil, fmt.Errorf("%s has a #: %.64q", name, text)
	}
	u, err := url.ParseRequestURI(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return u, nil
}

// only returns the value of a header that has one line.
func only(header http.Header, name string) (string, error) {
	lines := header[name]
	if len(lines) != 1 || lines[0] == "" {
		return "", fmt.Errorf("the request has %d lines %s, and needs one with a value", len(lines), name)
	}
	return lines[0], nil
}
