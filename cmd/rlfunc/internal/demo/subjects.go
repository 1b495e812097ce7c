package demo

import (
	"context"
	"fmt"
	"strings"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

// rivals are subjects that would share a bucket if keys contained names unescaped.
var rivals = []struct {
	label string
	names []string
}{
	{"IPv6", []string{"2001:db8::1:7334", "2002:db9::2:7334", "7334"}},
	{"braces", []string{"{user}1", "{user}2", "user", "a}:log", "a", "{}", "}{"}},
	{"control bytes", []string{"eve", "eve\r\nDEL *", "eve\x00", "eve ", "\xff\xfe"}},
	{"long names", []string{strings.Repeat("x", 300) + "1", strings.Repeat("x", 300) + "2"}},
}

// subjectsApart uses up the limit of each subject in turn. No subject may affect another.
func (r *run) subjectsApart(ctx context.Context, s *scene) error {
	const most = 3
	subjects := 0
	keys := map[string]string{}
	for _, group := range rivals {
		var answers []bool
		for _, name := range group.names {
			subjects++
			bucket := r.subject(name)
			key := fcall.Key(r.ns, bucket, "log")
			other, taken := keys[key]
			s.must(!taken, "%q and %q have the same key %s", name, other, key)
			keys[key] = name
			for i := range most + 1 {
				a, err := r.limits.SlidingLog(ctx, ratelimit.SlidingLogParams{Subject: bucket, Limit: most, Window: window})
				if err != nil {
					return fmt.Errorf("subject %q: %w", name, err)
				}
				answers = append(answers, a.Allowed)
				s.must(a.Allowed == (i < most), "call %d of %q: allowed %t, count %d", i+1, name, a.Allowed, a.Count)
			}
		}
		s.row(group.label, answers, fmt.Sprintf("%d subjects", len(group.names)))
	}
	r.page.note("%q -> %s", rivals[0].names[0], fcall.Key(r.ns, fcall.Subject(rivals[0].names[0]), "log"))
	r.page.note("%q -> %s", rivals[0].names[1], fcall.Key(r.ns, fcall.Subject(rivals[0].names[1]), "log"))
	s.found("%d subjects, %d keys, %d requests passed for each", subjects, len(keys), most)
	return nil
}
