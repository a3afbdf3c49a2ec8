package email_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"skidway/queue"
	"skidway/workers"
	"skidway/workers/kinds/email"
)

// writeFiles makes a folder of files, of which the names may hold slashes.
func writeFiles(t *testing.T, files map[string]string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// fromJSON reads args as a worker does.
func fromJSON(t *testing.T, text string) (args email.Args) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &args); err != nil {
		t.Fatal(err)
	}
	return args
}

func TestTemplatesMakeTheMessage(t *testing.T) {
	t.Parallel()
	s := startMailServer(t, func(s *mailServer) {
		s.config.Templates = writeFiles(t, map[string]string{
			"logs/report.subject.tmpl": "{{.lines}} lines\n",
			"logs/report.txt.tmpl":     "{{range .days}}{{.day}} {{.requests}} {{.share}}\n{{end}}",
			"logs/report.html.tmpl":    "<a href=\"{{.link}}\">{{.title}}</a>",
			"text.txt.tmpl":            "Hello, {{.name}}",
		})
	})
	sender := newEmail(t, s.config)
	cases := []struct{ name, args, subject, text, html string }{
		{"files",
			`"template": "logs/report", "data": {"lines": 3000000, "days": [{"day": "2026-11-20", "requests": 9007199254740993, "share": 0.5}],
			"title": "<Report> & more", "link": "javascript:alert(1)"}`,
			"3000000 lines", "2026-11-20 9007199254740993 0.5\n", `<a href="#ZgotmplZ">&lt;Report&gt; &amp; more</a>`},
		{"one file and a subject of the job's own",
			`"template": "text", "subject": "For {{.name}}", "data": {"name": "Ada"}`, "For Ada", "Hello, Ada", ""},
		{"in the job", `"subject": "{{.n}} lines", "text": "{{.n}} < 8", "html": "{{.n}} {{.sign}} 8", "data": {"n": 7, "sign": "<"}`,
			"7 lines", "7 < 8", "7 &lt; 8"},
		{"functions that make text",
			`"subject": "s", "data": {"name": "Ada", "price": 9.5}, "text": "{{printf \"%5.2f|%-6s|%x|%%|%*d|%[2]q\" .price .name 255 5 42}} {{print .name 1 2}} {{println 1}}{{html \"<a>\"}} {{js \"it's\"}} {{urlquery \"a b\"}}"`,
			"s", " 9.50|Ada   |ff|%|   42|\"Ada\" Ada1 2 1\n&lt;a&gt; it\\'s a+b", ""},
		{"braces without data stay", `"subject": "{{.n}}", "text": "{{.n}}"`, "{{.n}}", "{{.n}}", ""},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			outcome := runEmail(t, sender, fromJSON(t, `{"to": "ada@example.com", `+test.args+`}`))
			expectEmail(t, outcome, queue.AttemptSucceeded)
			mails := s.received()
			message := mails[len(mails)-1].parse(t)
			parts := decodeParts(t, message.Header.Get("Content-Type"), message.Body)
			if got := message.Header.Get("Subject"); got != test.subject {
				t.Errorf("subject %q, want %q", got, test.subject)
			}
			// A body that is no part of several ends with a line break.
			if strings.TrimSuffix(parts["text/plain"], "\r\n") != strings.TrimSuffix(crlf(test.text), "\r\n") || parts["text/html"] != test.html {
				t.Errorf("parts %q", parts)
			}
		})
	}
}

func TestBadTemplateIsDeadAndNamed(t *testing.T) {
	t.Parallel()
	outside := writeFiles(t, map[string]string{"secret": "secret"})
	s := startMailServer(t, func(s *mailServer) {
		s.config.MaxSize = 1000
		s.config.Templates = writeFiles(t, map[string]string{
			"silent.txt.tmpl":       "no subject",
			"empty.subject.tmpl":    "a subject only",
			"broken.subject.tmpl":   "{{if",
			"broken.txt.tmpl":       "x",
			"lines.subject.tmpl":    "a\nb",
			"lines.txt.tmpl":        "x",
			"blank.subject.tmpl":    "x",
			"blank.txt.tmpl":        "",
			"endless.txt.tmpl":      `{{define "x"}}....{{template "x"}}{{end}}{{template "x"}}`,
			"linked.subject.tmpl":   "x",
			"folder.txt.tmpl/a.txt": "x",
		})
		if err := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(s.config.Templates, "linked.txt.tmpl")); err != nil {
			t.Fatal(err)
		}
	})
	sender := newEmail(t, s.config)
	folder := func(name string) string { return filepath.Join(s.config.Templates, name) }
	cases := []struct {
		name, args string
		words      []string
	}{
		{"none", `"template": "welcome", "subject": "x"`, []string{folder("welcome.txt.tmpl"), folder("welcome.html.tmpl")}},
		{"no subject", `"template": "silent"`, []string{folder("silent.subject.tmpl")}},
		{"no body", `"template": "empty"`, []string{folder("empty.txt.tmpl")}},
		{"no template at all", `"template": "broken"`, []string{folder("broken.subject.tmpl"), "unclosed action"}},
		{"subject of two lines", `"template": "lines"`, []string{folder("lines.subject.tmpl"), "line break"}},
		{"nothing comes out", `"template": "blank"`, []string{folder("blank.txt.tmpl"), "empty message"}},
		{"no end", `"template": "endless", "subject": "x"`, []string{folder("endless.txt.tmpl"), "too large"}},
		{"link out of the folder", `"template": "linked"`, []string{folder("linked.txt.tmpl"), "escapes"}},
		{"a folder", `"template": "folder", "subject": "x"`, []string{folder("folder.txt.tmpl")}},
		{"a key that isn't there", `"text": "Hello, {{.name}}", "data": {"nmae": "Ada"}`, []string{"field text", `"name"`}},
		{"a key of no data", `"template": "silent", "subject": "{{.name}}"`, []string{"field subject", `"name"`}},
		{"a subject made of data with line breaks", `"subject": "{{.x}}", "text": "x", "data": {"x": "a\r\nBcc: b@example.com"}`,
			[]string{"field subject", "line break"}},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			outcome := runEmail(t, sender, fromJSON(t, `{"to": "ada@example.com", `+test.args+`}`))
			expectEmail(t, outcome, queue.AttemptDead, test.words...)
			if strings.Contains(outcome.Reason, "secret") {
				t.Errorf("the reason contains what must not be read: %s", outcome.Reason)
			}
		})
	}
	if n := s.connected(); n != 0 {
		t.Errorf("%d connections for messages that can't be made", n)
	}
}

func TestEndlessTemplateEndsAtTheTimeout(t *testing.T) {
	t.Parallel()
	sender := newEmail(t, email.Config{Host: "127.0.0.1", From: "shop@example.com"})
	calls := `{{define "a0"}}{{end}}`
	for i := range 60 {
		calls += fmt.Sprintf(`{{define "a%d"}}{{template "a%d"}}{{template "a%d"}}{{end}}`, i+1, i, i)
	}
	for name, template := range map[string]string{
		"range":       "{{range 9000000000000000}}{{end}}x",
		"range in if": "{{if true}}{{range 9000000000000000}}{{with 1}}{{end}}{{end}}{{end}}x",
		"templates":   calls + `{{template "a60"}}x`,
	} {
		for _, args := range []email.Args{{Text: template}, {HTML: template}} {
			args.To, args.Data = []string{"ada@example.com"}, email.Data{}
			ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, workers.ErrTimeout)
			err := sender.Send(ctx, jobOf(&queue.Job{ID: "a", Kind: "email.send"}, args))
			cancel()
			if !errors.Is(err, workers.ErrTimeout) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestTemplateCannotTakeMuchMoreMemoryThanItsMessage(t *testing.T) {
	const maxSize = 1 << 20
	sender := newEmail(t, email.Config{Host: "127.0.0.1", From: "shop@example.com", MaxSize: maxSize})
	nested := `{{$a := printf "%999999d" 1}}`
	for i := range 12 {
		nested += fmt.Sprintf(`{{$a = %s $a $a $a $a}}`, []string{`printf "%s%s%s%s"`, "print", "println", "html"}[i%4])
	}
	for name, template := range map[string]string{
		"nested":    nested + "x",
		"widths":    `{{len (printf "` + strings.Repeat("%[1]999999d", 2000) + `" 1)}}`,
		"stars":     `{{len (printf "` + strings.Repeat("%[1]*[1]d", 2000) + `" 999999)}}`,
		"precision": `{{len (printf "` + strings.Repeat("%.999999d", 2000) + `" 1)}}`,
		"arguments": `{{$a := printf "%999999d" 1}}{{len (js` + strings.Repeat(" $a", 2000) + `)}}`,
		"variables": strings.Repeat(`{{$a := printf "%999999d" 1}}`, 2000) + "x",
	} {
		for _, args := range []email.Args{{Text: template}, {HTML: template}} {
			args.To, args.Data = []string{"ada@example.com"}, email.Data{}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := sender.Send(t.Context(), jobOf(&queue.Job{ID: "a", Kind: "email.send"}, args))
			runtime.ReadMemStats(&after)
			if !errors.Is(err, email.ErrTooLarge) {
				t.Errorf("%s: %v, want ErrTooLarge", name, err)
			}
			if taken := after.TotalAlloc - before.TotalAlloc; taken > 64*maxSize {
				t.Errorf("%s: took %d MiB of memory for messages of at most %d MiB", name, taken>>20, maxSize>>20)
			}
		}
	}
}

func TestTextThatIsTooLargeIsDead(t *testing.T) {
	t.Parallel()
	s := startMailServer(t, func(s *mailServer) { s.config.MaxSize = 1000 })
	args := hello()
	args.Text = strings.Repeat("x", 1001)
	expectEmail(t, runEmail(t, newEmail(t, s.config), args), queue.AttemptDead, "too large")
}
