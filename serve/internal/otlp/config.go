package otlp

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// config is what the environment says, in the names of OpenTelemetry's specification. The exporter reads the other variables: headers,
// compression, certificates and the timeout of a request.
type config struct {
	interval, timeout time.Duration
}

// configure reads the environment. ok is false if nothing is to be pushed.
func configure(getenv func(string) string) (c config, ok bool, err error) {
	of := func(name string) (variable, value string) {
		for _, variable = range []string{"OTEL_EXPORTER_OTLP_METRICS_" + name, "OTEL_EXPORTER_OTLP_" + name} {
			if value = strings.TrimSpace(getenv(variable)); value != "" {
				return variable, value
			}
		}
		return "", ""
	}
	variable, endpoint := of("ENDPOINT")
	exporters := strings.Split(cmp.Or(getenv("OTEL_METRICS_EXPORTER"), "otlp"), ",")
	if endpoint == "" || strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || !slices.Contains(exporters, "otlp") {
		return c, false, nil
	}
	if u, err := url.Parse(endpoint); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return c, false, fmt.Errorf("%s must be a URL of http or https, such as http://127.0.0.1:4318, got %q", variable, endpoint)
	}
	if variable, protocol := of("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return c, false, fmt.Errorf("%s must be http/protobuf, got %q", variable, protocol)
	}
	if variable, timeout := of("TIMEOUT"); timeout != "" {
		if _, err := milliseconds(getenv, variable, 0); err != nil {
			return c, false, err
		}
	}
	if c.interval, err = milliseconds(getenv, "OTEL_METRIC_EXPORT_INTERVAL", time.Minute); err == nil {
		c.timeout, err = milliseconds(getenv, "OTEL_METRIC_EXPORT_TIMEOUT", 30*time.Second)
	}
	return c, err == nil, err
}

func milliseconds(getenv func(string) string, variable string, otherwise time.Duration) (time.Duration, error) {
	text := strings.TrimSpace(getenv(variable))
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s must be milliseconds from 1 to 2147483647, got %q", variable, text)
	}
	return time.Duration(n) * time.Millisecond, nil
}
