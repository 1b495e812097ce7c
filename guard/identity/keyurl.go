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
	wantedPause  = 30 * time.Second // between fetches for unknown kids: clients choose them
	firstRetry   = time.Second      // after a failed fetch; doubles up to wantedPause
)

func isURL(keys string) bool { return strings.Contains(keys, "://") }

func parseKeyURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("invalid URL") // its text may hold a password
	}
	return u, checkKeyURL(u)
}

// checkKeyURL requires https, or http of a loopback address.
func checkKeyURL(u *url.URL) error {
	host := u.Hostname()
	addr, err := netip.ParseAddr(host)
	loopback := err == nil && addr.IsLoopback() || host == "localhost"
	switch {
	case host == "":
		return errors.New("a URL of keys has a host")
	case u.User != nil:
		return errors.New("a URL of keys has no user and no password")
	case u.Scheme != "https" && (u.Scheme != "http" || !loopback):
		return fmt.Errorf("a URL of keys must be https, got %s://%s", u.Scheme, u.Host)
	}
	return nil
}

// A fetch keeps the keys of a URL fresh.
type fetch struct {
	source  *keySource
	client  *http.Client
	refresh time.Duration
	report  func(source string, err error)

	content []byte // of the last answer that was good
	retry   time.Duration
}

// run fetches until its context ends.
func (f *fetch) run(ctx context.Context) {
	for ctx.Err() == nil {
		pause := f.once(ctx)
		if !f.wait(ctx, pause) {
			return
		}
	}
}

// once fetches and returns how long to wait until the next fetch.
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
		f.retry = min(max(2*f.retry, firstRetry), wantedPause)
		return f.retry
	}
	if f.retry > 0 || !bytes.Equal(content, f.content) {
		f.report(f.source.name, nil)
	}
	f.content, f.retry = content, 0
	return f.refresh
}

// wait waits for a pause, or for a shorter one if a token names an unknown key meanwhile. It returns false when the context
// ends.
func (f *fetch) wait(ctx context.Context, pause time.Duration) bool {
	fetched := time.Now()
	timer := time.NewTimer(pause)
	defer timer.Stop()
	wanted := f.source.wanted
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return true
		case <-wanted:
			wanted = nil
			if pause > wantedPause {
				timer.Reset(time.Until(fetched.Add(wantedPause)))
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
