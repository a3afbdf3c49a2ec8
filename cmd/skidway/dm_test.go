package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat"
	"skidway/distribute/chat/conversation"
	"skidway/internal/handle"
	"skidway/internal/redistest"
)

// dmCommands runs dm commands on an empty database.
type dmCommands struct {
	t   testing.TB
	url string
}

func newDMCommands(t testing.TB) dmCommands { return dmCommands{t, redistest.URL(t)} }

func (d dmCommands) args(args ...string) []string {
	return append([]string{"dm", "--redis", d.url}, args...)
}

// must runs a command that must succeed, and returns its output.
func (d dmCommands) must(args ...string) string {
	d.t.Helper()
	o := mustRun(d.t, "", d.args(args...)...)
	if o.stderr != "" {
		d.t.Errorf("%q prints %q", args, o.stderr)
	}
	return o.stdout
}

func (d dmCommands) page(args ...string) (page dmPageJSON) {
	d.t.Helper()
	text := d.must(append(args, "-o", "json")...)
	if err := json.Unmarshal([]byte(text), &page); err != nil {
		d.t.Fatalf("%v in %s", err, text)
	}
	return page
}

func (d dmCommands) want(page dmPageJSON, unread, total uint64, texts ...string) {
	d.t.Helper()
	var got []string
	for _, m := range page.Messages {
		got = append(got, m.Text)
	}
	if page.Unread != unread || page.Total != total || strings.Join(got, " ") != strings.Join(texts, " ") {
		d.t.Errorf("got %+v, want %d unread of %d, %q", page, unread, total, texts)
	}
}

func TestDMIsReadOnceAndStaysInTheHistory(t *testing.T) {
	t.Parallel()
	d := newDMCommands(t)
	for i, text := range []string{"one", "two", "three"} {
		if got := d.must("send", "bob", "--as", "ann", text); got != fmt.Sprintln(i+1) {
			t.Errorf("the id is %q", got)
		}
	}
	d.want(d.page("read", "ann", "--as", "bob", "--peek"), 3, 3, "one", "two", "three")
	d.want(d.page("read", "ann", "--as", "bob", "--limit", "2"), 3, 3, "one", "two")
	text := d.must("read", "ann", "--as", "bob", "-o", "table")
	hasLine(t, text, "3  20", "ann: three")
	if text := d.must("read", "ann", "--as", "bob", "-o", "json"); !strings.Contains(text, `"messages": []`) {
		t.Errorf("nothing unread is %s", text)
	}
	d.must("send", "ann", "--as", "bob", "four")
	d.want(d.page("history", "bob", "--as", "ann", "--limit", "2"), 1, 4, "three", "four")
	d.want(d.page("history", "bob", "--as", "ann", "--before", "3"), 1, 4, "one", "two")
	d.want(d.page("history", "bob", "--as", "ann", "--after", "0", "--limit", "3"), 1, 4, "one", "two", "three")
	d.must("delete", "bob", "--as", "ann")
	d.want(d.page("history", "bob", "--as", "ann"), 0, 0)
}

func TestDMReadsAndShowsMoreThanAPage(t *testing.T) {
	t.Parallel()
	d := newDMCommands(t)
	c := conversation.NewClient(handle.New(redistest.Open(t, d.url)), nil)
	for range 250 {
		if _, err := c.Send(t.Context(), "ann", "bob", chat.Text(strings.Repeat("x", 1000))); err != nil {
			t.Fatal(err)
		}
	}
	for _, count := range []struct {
		args []string
		want int
	}{
		{[]string{"history", "ann", "--as", "bob"}, 100},
		{[]string{"history", "ann", "--as", "bob", "--limit", "0"}, 250},
		{[]string{"history", "ann", "--as", "bob", "--after", "0", "--limit", "120"}, 120},
		{[]string{"read", "ann", "--as", "bob", "--limit", "150"}, 150},
		{[]string{"read", "ann", "--as", "bob"}, 100},
	} {
		messages := d.page(count.args...).Messages
		for i, m := range messages {
			if i > 0 && m.ID != messages[i-1].ID+1 {
				t.Errorf("%q: %d after %d", count.args, m.ID, messages[i-1].ID)
			}
		}
		if len(messages) != count.want {
			t.Errorf("%q: %d messages", count.args, len(messages))
		}
	}
}

func TestDMUnreadCountsAllConversations(t *testing.T) {
	t.Parallel()
	d := newDMCommands(t)
	d.must("send", "bob", "--as", "ann", "x")
	d.must("send", "bob", "--as", "ann", "y")
	d.must("send", "bob", "--as", "cem", "z")
	d.must("read", "cem", "--as", "bob")
	if got := d.must("unread", "--as", "bob"); got != "peer,unread\nann,2\ncem,0\n" {
		t.Errorf("%q", got)
	}
	hasLine(t, d.must("unread", "--as", "bob", "-o", "table"), "ann", "2")
	var view struct {
		Unread        int
		Conversations []struct {
			Peer   string
			Unread int
		}
	}
	text := d.must("unread", "--as", "bob", "-o", "json")
	if err := json.Unmarshal([]byte(text), &view); err != nil || view.Unread != 2 || len(view.Conversations) != 2 || view.Conversations[0].Peer != "ann" {
		t.Errorf("%s: %+v, %v", text, view, err)
	}
}

func TestDMCarriesStandardInputAndURLs(t *testing.T) {
	t.Parallel()
	d := newDMCommands(t)
	c := command(t, t.TempDir(), d.args("send", "bob", "--as", "ann", "-")...)
	c.Stdin = strings.NewReader("two\nlines\n")
	if o := finish(t, c); o.code != cli.ExitDone {
		t.Fatalf("%+v", o)
	}
	d.must("send", "bob", "--as", "ann", "--type", "image", "--url", "https://example.com/a.png")
	page := d.page("read", "ann", "--as", "bob")
	if len(page.Messages) != 2 || page.Messages[0].Text != "two\nlines\n" || page.Messages[1].URL != "https://example.com/a.png" || page.Messages[1].Type != "image" {
		t.Errorf("got %+v", page)
	}
}

func TestDMFollowPrintsNewMessagesOnceUntilCtrlC(t *testing.T) {
	t.Parallel()
	for name, peek := range map[string]bool{"acknowledging": false, "peeking": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDMCommands(t)
			d.must("send", "bob", "--as", "ann", "one")
			args := d.args("read", "ann", "--as", "bob", "--follow", "-o", "json")
			if peek {
				args = append(args, "--peek")
			}
			p := command(t, t.TempDir(), args...)
			out, err := p.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			c := conversation.NewClient(handle.New(redistest.Open(t, d.url)), nil)
			for i, text := range []string{"one", "two", "three"} {
				if i > 0 {
					if sent, err := c.Send(t.Context(), "ann", "bob", chat.Text(text)); err != nil || i == 2 && sent.Notify {
						t.Errorf("a person who follows is not present: %v", err)
					}
				}
				var m message
				if !lines.Scan() || json.Unmarshal(lines.Bytes(), &m) != nil || m.Text != text || m.ID != uint64(i+1) || m.Sender != "ann" {
					t.Fatalf("got %q, want %s", lines.Text(), text)
				}
			}
			if err := p.Process.Signal(interrupt); err != nil {
				t.Fatal(err)
			}
			rest, _ := io.ReadAll(out)
			_ = p.Wait() // the exit code is checked
			if code := p.ProcessState.ExitCode(); code != cli.ExitDone || len(rest) > 0 {
				t.Errorf("exit code %d, more output %q", code, rest)
			}
			want := uint64(0)
			if peek {
				want = 3
			}
			if page := d.page("read", "ann", "--as", "bob", "--peek"); page.Unread != want {
				t.Errorf("%d unread at the end", page.Unread)
			}
			if sent, err := c.Send(t.Context(), "ann", "bob", chat.Text("four")); err != nil || !sent.Notify {
				t.Errorf("still present after the end: %v", err)
			}
		})
	}
}

func TestDMLeavesUnprintedMessagesUnread(t *testing.T) {
	t.Parallel()
	d := newDMCommands(t)
	d.must("send", "bob", "--as", "ann", "one")
	c := command(t, t.TempDir(), d.args("read", "ann", "--as", "bob")...)
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = writer.Close() }()
	_ = reader.Close()
	c.Stdout = writer
	_ = c.Run() // the rest is checked
	d.want(d.page("read", "ann", "--as", "bob"), 1, 1, "one")
}

func TestDMRefusesWrongUsage(t *testing.T) {
	t.Parallel()
	d := newDMCommands(t)
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no receiver":        {[]string{"send", "--as", "ann"}, cli.ExitUsage, "missing TO"},
		"nothing to send":    {[]string{"send", "bob", "--as", "ann"}, cli.ExitUsage, "missing MESSAGE"},
		"without quotes":     {[]string{"send", "bob", "--as", "ann", "a", "b"}, cli.ExitUsage, "quotes"},
		"no sender":          {[]string{"send", "bob", "x"}, cli.ExitUsage, `"as"`},
		"to oneself":         {[]string{"send", "ann", "--as", "ann", "x"}, cli.ExitUsage, "two people"},
		"too long":           {[]string{"send", "bob", "--as", "ann", strings.Repeat("x", chat.MaxText+1)}, cli.ExitUsage, "65537 bytes"},
		"no URL":             {[]string{"send", "bob", "--as", "ann", "--url", "nowhere"}, cli.ExitUsage, "URL"},
		"empty reader":       {[]string{"read", "ann", "--as", ""}, cli.ExitUsage, "empty"},
		"limited follow":     {[]string{"read", "ann", "--as", "bob", "-f", "--limit", "3"}, cli.ExitUsage, "give --limit or --follow, not both"},
		"no id":              {[]string{"history", "ann", "--as", "bob", "--before", "x"}, cli.ExitUsage, "whole number"},
		"no peer":            {[]string{"delete", "--as", "bob"}, cli.ExitUsage, "missing PEER"},
		"unknown below":      {[]string{"sned"}, cli.ExitUsage, "did you mean send"},
		"Redis that is away": {[]string{"unread", "--as", "bob", "--redis", unreachableURL}, cli.ExitUnreachable, "not reachable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := skidway(t, "", d.args(c.args...)...)
			if o.code != c.code || o.stdout != "" {
				t.Errorf("exit code %d, standard output %q", o.code, o.stdout)
			}
			hasLine(t, o.stderr, "skidway: ", c.want)
		})
	}
}
