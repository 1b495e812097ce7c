package identity

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

const (
	fetchTimeout = 10 * time.Second
	minPause     = 30 * time.Second // between fetches for unknown kids, which clients choose
	firstRetry   = time.Second      // after a failed fetch; doubles up to minPause
)

// CheckKeys returns why keys is no file, and no URL whose response nobody can forge on the way: https, or http on loopback.
func CheckKeys(keys string) error {
	if !isURL(keys) {
		return nil
	}
	_, err := parseKeyURL(keys)
	return err
}

func isURL(keys string) bool { return strings.Contains(keys, "://") }

func parseKeyURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("must be a valid URL") // the text may hold a password
	}
	addr, err := netip.ParseAddr(u.Hostname())
	loopback := err == nil && addr.IsLoopback() || u.Hostname() == "localhost"
	return u, checkKeyURL(u, loopback)
}

// checkKeyURL requires https, or http if that is allowed.
func checkKeyURL(u *url.URL, allowHTTP bool) error {
	switch {
	case u.Hostname() == "":
		return errors.New("must be a URL with a host")
	case u.User != nil:
		return errors.New("must be a URL without user and password")
	case u.Scheme != "https" && (u.Scheme != "http" || !allowHTTP):
		return fmt.Errorf("must be an https URL, got %s://%s", u.Scheme, u.Host)
	}
	return nil
}

// A fetch keeps the keys of a URL fresh.
type fetch struct {
	source  *keySource
	client  *http.Client
	refresh time.Duration
	report  func(source string, err error)

	content []byte // of the last valid response
	retry   time.Duration
}

// run fetches until ctx ends.
func (f *fetch) run(ctx context.Context) {
	for ctx.Err() == nil {
		pause := f.once(ctx)
		if !f.wait(ctx, pause) {
			return
		}
	}
}

// once fetches and returns the pause until the next fetch.
func (f *fetch) once(ctx context.Context) time.Duration {
	content, err := f.get(ctx)
	if err == nil && !bytes.Equal(content, f.content) {
		err = f.source.set(content, false)
	}
	if ctx.Err() != nil {
		return 0
	}
	if err != nil {
		f.report(f.source.name, fmt.Errorf("fetch keys: %w", err))
		f.retry = min(max(2*f.retry, firstRetry), minPause)
		return f.retry
	}
	if f.retry > 0 || !bytes.Equal(content, f.content) {
		f.report(f.source.name, nil)
	}
	f.content, f.retry = content, 0
	return f.refresh
}

// wait waits for a pause, which a token with an unknown key shortens. It reports false when ctx ends.
func (f *fetch) wait(ctx context.Context, pause time.Duration) bool {
	fetched := time.Now()
	timer := time.NewTimer(pause)
	defer timer.Stop()
	refresh := f.source.refresh
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return true
		case <-refresh:
			refresh = nil
			if pause > minPause {
				timer.Reset(time.Until(fetched.Add(minPause)))
			}
		}
	}
}

func (f *fetch) get(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.source.name, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/jwk-set+json, application/json")
	response, err := f.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s", f.source.name, response.Status)
	}
	content, err := io.ReadAll(io.LimitReader(response.Body, maxKeySet+1))
	if err != nil {
		return nil, err
	}
	if len(content) > maxKeySet {
		return nil, fmt.Errorf("GET %s: larger than %d bytes", f.source.name, maxKeySet)
	}
	return content, nil
}
