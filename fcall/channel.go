package fcall

import (
	"fmt"
	"strings"
)

// registerMark begins the line of a bundle that registers a function.
const registerMark = "redis.register_function{function_name = '"

// Channel returns a copy of the library under another name, such as `ratelimit_v1_canary`. A server can hold both: a canary
// serves some of the callers, a shadow run's answers are discarded. "" returns the library itself.
//
// A name is 1 to 32 of a-z and 0-9, begins with a letter and is not "stable". Channel rejects a name that makes two functions'
// names equal: a library with gcra_peek and peek cannot have a channel gcra.
//
// Clients of a channel use the same keys as other clients unless they have their own Namespace: a canary shares the limits, a
// shadow run needs a namespace.
func (l *Library) Channel(name string) (*Library, error) {
	if name == "" {
		return l, nil
	}
	if err := checkChannel(name); err != nil {
		return nil, fmt.Errorf("channel of %s: %w", l.ServerName, err)
	}
	lines := strings.SplitAfter(l.Code, "\n")
	own := map[string]bool{}
	for _, line := range lines {
		if f, ok := registers(line, l.ServerName); ok {
			own[f] = true
		}
	}
	channel := *l
	channel.ServerName = l.ServerName + "_" + name
	for i, line := range lines {
		switch f, ok := registers(line, l.ServerName); {
		case ok && own[name+"_"+f]:
			return nil, fmt.Errorf("channel of %s: %q would call a function %s_%s, which the library has already", l.ServerName, name, channel.ServerName, f)
		case ok:
			lines[i] = registerMark + channel.ServerName + strings.TrimPrefix(line, registerMark+l.ServerName)
		case i == 0:
			lines[i] = strings.Replace(line, "name="+l.ServerName, "name="+channel.ServerName, 1)
		case strings.HasPrefix(line, metadataMark+"library="+l.Name+" "):
			text := strings.TrimRight(line, "\r\n")
			lines[i] = text + " channel=" + name + line[len(text):]
		}
	}
	channel.Code = strings.Join(lines, "")
	return &channel, nil
}

func checkChannel(name string) error {
	ok := len(name) <= 32 && 'a' <= name[0] && name[0] <= 'z' && name != "stable"
	for i := 0; ok && i < len(name); i++ {
		ok = 'a' <= name[i] && name[i] <= 'z' || '0' <= name[i] && name[i] <= '9'
	}
	if !ok {
		return fmt.Errorf("the name must be 1 to 32 of the characters a-z 0-9, begin with a letter and not be stable, got %s", quote(name))
	}
	return nil
}

// registers returns the function that a line of a bundle registers, without the library's name.
func registers(line, server string) (function string, ok bool) {
	rest, ok := strings.CutPrefix(line, registerMark+server+"_")
	if !ok {
		return "", false
	}
	return rest[:max(0, strings.IndexByte(rest, '\''))], true
}

// inChannel returns the function as a client calls it in a channel's library, which may be base itself.
func (f *Function) inChannel(channel *Library, base *Library) *Function {
	g := *f
	if channel != base {
		g.Library = channel
		g.ServerName = channel.ServerName + strings.TrimPrefix(f.ServerName, base.ServerName)
	}
	g.word = g.ServerName
	return &g
}
