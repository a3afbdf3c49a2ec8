package access

import (
	"errors"
	"strings"
	"testing"

	"skidway/queue"
)

func TestScopes(t *testing.T) {
	for _, c := range []struct {
		scope, action, queue, kind string
		allowed                    bool
	}{
		{"view:*", "view", "mail", "", true},
		{"view:*", "view", "*", "", true},
		{"view:*", "operate", "mail", "", false},
		{"admin:*", "view", "mail", "", false},
		{"view:mail", "view", "mail", "", true},
		{"view:mail", "view", "mail2", "", false},
		{"view:mail", "view", "*", "", false},
		{"view:mail", "view", "", "", false},
		{"view:*", "view", "", "", false},
		{"view:?", "view", "*", "", false},
		{"view:[a-z]*", "view", "*", "", false},
		{"view:tenant-*", "view", "tenant-1", "", true},
		{"view:tenant-*", "view", "tenant-{{.result}}", "", false},
		{"enqueue:mail", "enqueue", "mail", "report", true},
		{"enqueue:mail", "enqueue", "mail", "a/b", true},
		{"enqueue:mail:*", "enqueue", "mail", "email.send", false},
		{"enqueue:mail:*", "enqueue", "mail", "emails", true},
		{"enqueue:mail:e*", "enqueue", "mail", "email.send", false},
		{"enqueue:mail:[e]mail.*", "enqueue", "mail", "email.send", false},
		{"enqueue:mail:?mail.send", "enqueue", "mail", "email.send", false},
		{"enqueue:mail:email.*", "enqueue", "mail", "email.send", true},
		{"enqueue:mail:email.send", "enqueue", "mail", "email.send", true},
		{"enqueue:mail:email.send", "enqueue", "mail", "email.sender", false},
		{"enqueue:mail:email.*", "enqueue", "mail", "exec.run", false},
		{"enqueue:*:*", "enqueue", "mail", "exec.run", false},
		{"enqueue:*:*", "enqueue", "mail", "http.request", false},
		{"enqueue:*:*", "enqueue", "mail", "logs.count", false},
		{"enqueue:*:*", "enqueue", "mail", "skidway.forward", false},
		{"enqueue:*:*", "enqueue", "mail", "{{.result}}", false},
		{"enqueue:*:*", "enqueue", "mail", "", false},
	} {
		scope, err := ParseScope(c.scope)
		if err != nil {
			t.Fatal(err)
		}
		p := &Principal{Scopes: []Scope{scope}}
		allowed := p.May(Action(c.action), c.queue)
		if c.action == "enqueue" {
			allowed = p.MayAdd(c.queue, c.kind)
		}
		if allowed != c.allowed {
			t.Errorf("%s allows %s of %q %q: %v, want %v", c.scope, c.action, c.queue, c.kind, allowed, c.allowed)
		}
		var none *Principal
		if none.May(Action(c.action), c.queue) || none.MayAdd(c.queue, c.kind) {
			t.Errorf("no principal may %s", c.action)
		}
	}
}

func TestScopesThatAreRefused(t *testing.T) {
	for _, text := range []string{
		"", "view", "View:*", " view:*", "view:", "view:*:*", "enqueue:a:b:c", "enqueue:a:", "fly:*",
		"view:[a", "view:a b", "view:a/b", "view:é", "view:\x1b", "enqueue:*:a\n", "view:" + strings.Repeat("a", 129),
	} {
		if _, err := ParseScope(text); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("scope %q: error %v, want one that is not valid", text, err)
		}
	}
}

func FuzzScope(f *testing.F) {
	for _, text := range []string{"view:*", "enqueue:mail:email.send", "enqueue:[a-z]?:x/*", "admin:[^a]"} {
		f.Add(text, "mail", "email.send")
	}
	f.Fuzz(func(t *testing.T, text, name, kind string) {
		s, err := ParseScope(text)
		if err != nil {
			return
		}
		if again, err := ParseScope(s.String()); err != nil || again != s {
			t.Errorf("scope %q is %q, which is %v, %v", text, s, again, err)
		}
		p := &Principal{Scopes: []Scope{s}}
		if p.MayAdd(name, "exec."+kind) && !strings.HasPrefix(s.Kind, "exec.") {
			t.Errorf("scope %q allows exec.%s", text, kind)
		}
		if p.May(s.Action, All) && s.Queue != All {
			t.Errorf("scope %q is for all queues", text)
		}
	})
}
