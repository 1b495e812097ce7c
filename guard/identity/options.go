package identity

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

const (
	defaultKeyRefresh = 15 * time.Minute
	minKeyRefresh     = time.Minute
	maxKeyRefresh     = 24 * time.Hour
)

// Options configure a Reader. The zero value trusts no proxies.
type Options struct {
	// TrustedProxies are the peers whose ForwardedHeader the Reader trusts. Defaults to none.
	TrustedProxies []netip.Prefix
	// ForwardedHeader is the header to which proxies add the address of their peer: Forwarded in the form of RFC 7239, any
	// other in the form of X-Forwarded-For. Defaults to X-Forwarded-For.
	ForwardedHeader string
	// KeyRefresh is the interval between fetches of a URL's keys, 1 min to 24 h. Defaults to 15 min.
	KeyRefresh time.Duration
	// Client fetches keys. It follows redirects to https only, and each fetch ends after 10 s. Defaults to a client on
	// http.DefaultTransport.
	Client *http.Client
	// OnReload is called after a file or URL was read again: without an error once it has other content, or works after a
	// failure; with an error whenever it fails, and then the content from before stays in use, but after ErrNoDigests. It
	// runs in the background, never twice at a time for one source, and must not call Close. Defaults to a warning in
	// slog's default logger for each error.
	OnReload func(source string, err error)
}

// complete returns options with defaults, checked.
func (o Options) complete() (Options, error) {
	if o.ForwardedHeader == "" {
		o.ForwardedHeader = "X-Forwarded-For"
	}
	if !isToken(o.ForwardedHeader) {
		return o, fmt.Errorf("ForwardedHeader must be a header name, got %q", o.ForwardedHeader)
	}
	o.ForwardedHeader = http.CanonicalHeaderKey(o.ForwardedHeader)
	o.TrustedProxies = slices.Clone(o.TrustedProxies)
	for i, p := range o.TrustedProxies {
		if !p.IsValid() {
			return o, fmt.Errorf("TrustedProxies[%d] must be a valid prefix: use netip.ParsePrefix", i)
		}
		o.TrustedProxies[i] = unmap(p).Masked()
	}
	if o.KeyRefresh == 0 {
		o.KeyRefresh = defaultKeyRefresh
	}
	if o.KeyRefresh < minKeyRefresh || o.KeyRefresh > maxKeyRefresh {
		return o, fmt.Errorf("KeyRefresh must be %v to %v, got %v", minKeyRefresh, maxKeyRefresh, o.KeyRefresh)
	}
	o.Client = fetcher(o.Client)
	if o.OnReload == nil {
		o.OnReload = func(source string, err error) {
			switch {
			case errors.Is(err, ErrNoDigests):
				slog.Warn("identity reloaded; all values are revoked", "source", source, "error", err)
			case err != nil:
				slog.Warn("identity not reloaded; the old content stays in use", "source", source, "error", err)
			}
		}
	}
	return o, nil
}

// fetcher returns a copy of a client that follows redirects to https only.
func fetcher(client *http.Client) *http.Client {
	var c http.Client
	if client != nil {
		c = *client
	}
	next := c.CheckRedirect
	c.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if len(via) >= 3 {
			return errors.New("more than 3 redirects")
		}
		if err := checkKeyURL(r.URL, false); err != nil {
			return fmt.Errorf("redirect target %w", err)
		}
		if next != nil {
			return next(r, via)
		}
		return nil
	}
	return &c
}

// unmap returns the IPv4 prefix that an IPv6 prefix maps, or the prefix itself.
func unmap(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p
}

// isToken reports whether text is a token (RFC 9110, 5.6.2): the name of a header or cookie.
func isToken(text string) bool {
	for i := range len(text) {
		if c := text[i]; !isAlnum(c) && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return text != ""
}
