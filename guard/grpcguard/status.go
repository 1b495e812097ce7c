package grpcguard

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/internal/web"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// domain is the ErrorInfo domain of all reasons.
const domain = "rlfunc"

// refusal returns the status error of a refusal, and the wait that its client is told.
func refusal(d *guard.Decision, wait time.Duration) error {
	code := codes.ResourceExhausted
	if d.Reason == guard.ReasonDenied || d.Reason == guard.ReasonChallenge {
		code = codes.PermissionDenied
	}
	name, text, advice := web.Refusal(d, "call")
	text = lower(text)
	if advice != "" {
		text += "; " + lower(advice)
	}
	details := []protoadapt.MessageV1{&errdetails.ErrorInfo{
		Reason: strings.ToUpper(name), Domain: domain, Metadata: map[string]string{"endpoint": d.Endpoint},
	}}
	if wait > 0 {
		text = fmt.Sprintf("%s; try again in %v", text, wait.Round(time.Millisecond))
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(wait)})
	}
	if q := violations(d); q != nil {
		details = append(details, q)
	}
	return with(code, text, details...)
}

// lower returns a sentence as a clause.
func lower(sentence string) string { return strings.ToLower(sentence[:1]) + sentence[1:] }

// violations lists the limits and budgets that refuse; nil if none does.
func violations(d *guard.Decision) *errdetails.QuotaFailure {
	q := new(errdetails.QuotaFailure)
	add := func(name string, waiting time.Duration, format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		if waiting -= d.Age; waiting > 0 {
			text += fmt.Sprintf("; admits again in %v", waiting.Round(time.Millisecond))
		}
		q.Violations = append(q.Violations, &errdetails.QuotaFailure_Violation{Subject: d.Endpoint + "/" + name, Description: text})
	}
	for i := range d.Limits {
		l := &d.Limits[i]
		switch {
		case l.Allowed || l.Shadow || l.Global:
		case l.Kind == policy.Concurrency:
			add(l.Name, 0, "%d at the same time", l.Limit)
		default:
			add(l.Name, l.RetryAfter, "%d in %v", l.Limit, l.Window)
		}
	}
	for i := range d.Budgets {
		if b := &d.Budgets[i]; !b.Allowed {
			add(b.Name, b.RetryAfter, "a budget of %v in %v", b.Budget, b.Window)
		}
	}
	if len(q.Violations) == 0 {
		return nil
	}
	return q
}

// failure returns the status error for an undecided call. Clients do not see the cause; observers do.
func failure(err error) error {
	name, text := web.Failure(err, "call")
	code, details := codes.Internal, []protoadapt.MessageV1{&errdetails.ErrorInfo{Reason: strings.ToUpper(name), Domain: domain}}
	switch name {
	case web.Unavailable:
		code, details = codes.Unavailable, append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(unavailableFor)})
	case web.TimedOut:
		code = codes.DeadlineExceeded
	case web.BadRequest:
		code = codes.InvalidArgument
	}
	return with(code, lower(text), details...)
}

// unavailableFor is the retry delay while Redis does not answer.
const unavailableFor = time.Second

func unmatched() error {
	return with(codes.Unimplemented, "the method is not in the policy", &errdetails.ErrorInfo{Reason: "NOT_FOUND", Domain: domain})
}

func invalid(text string) error {
	return with(codes.InvalidArgument, text, &errdetails.ErrorInfo{Reason: "BAD_REQUEST", Domain: domain})
}

func with(code codes.Code, text string, details ...protoadapt.MessageV1) error {
	s := status.New(code, text)
	if detailed, err := s.WithDetails(details...); err == nil {
		s = detailed
	}
	return s.Err()
}
