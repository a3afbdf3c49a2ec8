package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat"
	"skidway/distribute/chat/group"
	"skidway/internal/handle"
	"skidway/internal/redistest"
)

// chatCommands runs commands on one Redis.
type chatCommands struct {
	t   testing.TB
	url string
}

func newChatCommands(t testing.TB) chatCommands { return chatCommands{t, redistest.URL(t)} }

func (s chatCommands) command(args ...string) *exec.Cmd {
	c := command(s.t, s.t.TempDir(), args...)
	c.Env = append(c.Env, "SKIDWAY_REDIS="+s.url)
	return c
}

func (s chatCommands) run(args ...string) outcome {
	s.t.Helper()
	return inProcess(s.t, append([]string{"--redis", s.url}, args...))
}

// must runs a command that has to succeed, and returns its output without the
// last newline.
func (s chatCommands) must(args ...string) string {
	s.t.Helper()
	o := s.run(args...)
	if o.code != cli.ExitDone {
		s.t.Fatalf("skidway %s: exit code %d\n%s", strings.Join(args, " "), o.code, o.stderr)
	}
	return strings.TrimSuffix(o.stdout, "\n")
}

func (s chatCommands) prints(want string, args ...string) {
	s.t.Helper()
	if got := s.must(args...); got != want {
		s.t.Fatalf("skidway %s: printed %q, want %q", strings.Join(args, " "), got, want)
	}
}

// messages runs a command that prints an array of messages.
func (s chatCommands) messages(args ...string) (list []message) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(s.must(append(args, "-o", "json")...)), &list); err != nil {
		s.t.Fatal(err)
	}
	return list
}

func texts(list []message) string {
	var all []string
	for _, m := range list {
		all = append(all, fmt.Sprintf("%s/%d %s: %s", m.Chat, m.ID, m.Sender, m.Text))
	}
	return strings.Join(all, ", ")
}

func wantText(t testing.TB, got, want string) {
	t.Helper()
	if got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
}

// A follower is a process whose standard output is read line by line.
type follower struct {
	t     testing.TB
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

// watch starts a command that goes on until it is interrupted.
func (s chatCommands) watch(args ...string) *follower {
	s.t.Helper()
	return follow(s.t, s.command(args...))
}

// follow starts a command that goes on until it is interrupted. A test that waits for too long ends it.
func follow(t testing.TB, c *exec.Cmd) *follower {
	t.Helper()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(5*waitLimit, func() { _ = c.Process.Kill() })
	t.Cleanup(func() { late.Stop() })
	return &follower{t, c, bufio.NewScanner(out)}
}

// line returns the next line that it prints.
func (w *follower) line() string {
	w.t.Helper()
	if !w.lines.Scan() {
		w.t.Fatalf("it ended: %v", w.lines.Err())
	}
	return w.lines.Text()
}

// next returns the next message that it prints as a JSON object.
func (w *follower) next() string {
	w.t.Helper()
	line := w.line()
	var m message
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		w.t.Fatalf("%s: %v", line, err)
	}
	return texts([]message{m})
}

// stop interrupts it: it must exit with 0, and print nothing more.
func (w *follower) stop() {
	w.t.Helper()
	if err := w.cmd.Process.Signal(interrupt); err != nil {
		w.t.Fatal(err)
	}
	for w.lines.Scan() {
		w.t.Errorf("printed at the end: %s", w.lines.Text())
	}
	if err := w.cmd.Wait(); err != nil {
		w.t.Errorf("at the end: %v", err)
	}
}

// kill ends it in the middle of its output.
func (w *follower) kill() {
	w.t.Helper()
	if err := w.cmd.Process.Kill(); err != nil {
		w.t.Fatal(err)
	}
	_ = w.cmd.Wait() // it was killed
}

// awaitRead waits until a member has read all messages.
func (s chatCommands) awaitRead(id, member string) {
	s.t.Helper()
	g := group.NewClient(handle.New(redistest.Open(s.t, s.url)))
	for {
		chats, err := g.Unread(s.t.Context(), member)
		put(s.t, err)
		for _, m := range chats {
			if m.Chat == id && m.Unread == 0 {
				return
			}
		}
	}
}

func TestChatKeepsMessagesForAbsentMembers(t *testing.T) {
	t.Parallel()
	s := newChatCommands(t)
	s.prints("lunch", "chat", "create", "--id", "lunch", "--as", "ann", "--member", "bob", "--member", "ann", "noon?")
	s.prints("1", "chat", "create", "--as", "ann", "--member", "cem")
	s.prints("2", "chat", "send", "lunch", "--as", "ann", "or later?")
	s.prints("1", "chat", "send", "1", "--as", "cem", "--type", "image", "--url", "https://example.com/a.png")
	s.prints("chat,kind,unread,missed,last,error\nlunch,people,2,0,2,", "chat", "list", "--as", "bob")

	wantText(t, texts(s.messages("chat", "read", "--as", "bob", "--peek")), "lunch/1 ann: noon?, lunch/2 ann: or later?")
	list := s.messages("chat", "read", "lunch", "--as", "bob")
	wantText(t, texts(list), "lunch/1 ann: noon?, lunch/2 ann: or later?")
	if list[0].Time.IsZero() {
		t.Error("a message has no time")
	}
	s.prints("[]", "chat", "read", "--as", "bob", "-o", "json")
	s.prints("chat,id,time,sender,message,type,url,error", "chat", "read", "--as", "bob")
	s.prints("", "chat", "read", "--as", "bob", "-o", "table")
	hasLine(t, s.must("chat", "read", "--as", "ann", "-o", "table"), "1 1  ", "cem: ", "<https://example.com/a.png>")
}

func TestChatReadsThousandsOfMessagesAsOneArray(t *testing.T) {
	t.Parallel()
	s := newChatCommands(t)
	s.must("chat", "create", "--id", "c", "--as", "ann", "--member", "bob")
	const n = 1100 // more than two pages
	g := group.NewClient(handle.New(redistest.Open(t, s.url)))
	for range n {
		_, err := g.Send(t.Context(), "c", "ann", chat.Text("hello"))
		put(t, err)
	}
	for _, peek := range [][]string{{"--peek"}, nil} {
		list := s.messages(append([]string{"chat", "read", "--as", "bob"}, peek...)...)
		if len(list) != n {
			t.Fatalf("got %d messages", len(list))
		}
		for i, m := range list {
			if m.ID != uint64(i+1) {
				t.Fatalf("message %d has id %d", i, m.ID)
			}
		}
	}
	if list := s.messages("chat", "read", "--as", "bob"); len(list) != 0 {
		t.Fatalf("%d messages are still unread", len(list))
	}
}

func TestTwoFollowersExchangeMessages(t *testing.T) {
	t.Parallel()
	s := newChatCommands(t)
	s.must("chat", "create", "--id", "c", "--as", "ann", "--member", "bob")
	s.must("chat", "create", "--id", "other", "--as", "ann", "--member", "bob", "not for this one")
	ann := s.watch("chat", "read", "c", "--as", "ann", "--follow", "-o", "json")
	bob := s.watch("chat", "read", "c", "--as", "bob", "--follow", "-o", "json")
	s.must("chat", "send", "c", "--as", "ann", "hello")
	wantText(t, bob.next(), "c/1 ann: hello")
	s.awaitRead("c", "bob") // else bob's own message would be printed for him
	s.must("chat", "send", "c", "--as", "bob", "and you?")
	wantText(t, ann.next(), "c/2 bob: and you?")
	s.awaitRead("c", "ann")
	s.must("chat", "send", "c", "--as", "ann", "fine")
	wantText(t, bob.next(), "c/3 ann: fine")
	s.awaitRead("c", "bob")
	ann.stop()
	bob.stop()
	wantText(t, texts(s.messages("chat", "read", "--as", "bob")), "other/1 ann: not for this one")
}

func TestPeekAndFollowPrintEachMessageOnceAndLeaveItUnread(t *testing.T) {
	t.Parallel()
	s := newChatCommands(t)
	s.must("chat", "create", "--id", "a", "--as", "ann", "--member", "bob", "one")
	for _, id := range [][]string{{"a"}, nil} {
		w := s.watch(append([]string{"chat", "read", "--as", "bob", "--peek", "--follow", "-o", "json"}, id...)...)
		wantText(t, w.next(), "a/1 ann: one")
		number := s.must("chat", "send", "a", "--as", "ann", "two")
		if number != "2" {
			wantText(t, w.next(), "a/2 ann: two")
		}
		wantText(t, w.next(), "a/"+number+" ann: two")
		w.stop()
	}
	wantText(t, texts(s.messages("chat", "read", "--as", "bob")), "a/1 ann: one, a/2 ann: two, a/3 ann: two")
}

func TestFollowNoticesAChatJoinedMeanwhile(t *testing.T) {
	t.Parallel()
	s := newChatCommands(t)
	w := s.watch("chat", "read", "--as", "bob", "--follow", "-o", "json")
	s.must("chat", "create", "--id", "new", "--as", "ann", "--member", "bob", "welcome")
	wantText(t, w.next(), "new/1 ann: welcome")
	s.must("chat", "drop", "new")
	s.must("chat", "create", "--id", "new", "--as", "ann", "--member", "bob", "again")
	wantText(t, w.next(), "new/1 ann: again")
	w.stop()
}

func TestReadThatCannotPrintMarksNothingAsRead(t *testing.T) {
	t.Parallel()
	s := newChatCommands(t)
	s.must("chat", "create", "--id", "c", "--as", "ann", "--member", "bob", "hello")
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no /dev/full")
	}
	defer func() { _ = full.Close() }()
	for _, format := range []string{"json", "csv", "table"} {
		for name, follow := range map[string][]string{"read": nil, "follow": {"--follow"}} {
			c := s.command(append([]string{"chat", "read", "--as", "bob", "-o", format}, follow...)...)
			c.Stdout = full
			_ = c.Run() // the exit code is checked
			if code := c.ProcessState.ExitCode(); code != cli.ExitFailed {
				t.Errorf("%s as %s: exit code %d", name, format, code)
			}
		}
	}
	wantText(t, texts(s.messages("chat", "read", "--as", "bob")), "c/1 ann: hello")
}

func TestMembersJoinLeaveAndAreDropped(t *testing.T) {
	t.Parallel()
	s := newChatCommands(t)
	s.must("chat", "create", "--id", "c", "--as", "ann", "--member", "gone", "one")
	s.must("chat", "send", "c", "--as", "ann", "two")
	s.must("chat", "join", "c", "--as", "late")
	s.must("chat", "join", "c", "--as", "early", "--from-start")
	var members []memberJSON
	put(t, json.Unmarshal([]byte(s.must("chat", "members", "c", "-o", "json")), &members))
	got := ""
	for _, m := range members {
		got += fmt.Sprintf("%s %d/%d ", m.Member, m.Cursor, m.Unread)
		if m.Seen.IsZero() {
			t.Errorf("the last visit of %s is unknown", m.Member)
		}
	}
	wantText(t, got, "ann 2/0 early 0/2 gone 0/2 late 2/0 ")

	s.must("chat", "read", "--as", "early")
	o := s.run("chat", "drop", "c", "gone")
	hasLine(t, o.stderr, `dropped "gone"`, "messages deleted: 2")
	s.must("chat", "leave", "c", "--as", "late")
	s.must("chat", "leave", "c", "--as", "early")
	o = s.run("chat", "drop", "c", "ann")
	hasLine(t, o.stderr, "the last member", `chat "c"`)
	for _, args := range []string{"members c", "info c", "send c hello --as ann", "drop c"} {
		if o := s.run(append([]string{"chat"}, strings.Fields(args)...)...); o.code != cli.ExitFailed || o.stdout != "" {
			t.Errorf("%s: %+v", args, o)
		} else {
			hasLine(t, o.stderr, `chat "c"`, "there is no such chat")
		}
	}
}

func TestDropDeletesAWholeChat(t *testing.T) {
	t.Parallel()
	s := newChatCommands(t)
	s.must("chat", "create", "--id", "c", "--as", "ann", "--member", "bob", "--channel", "hello")
	o := s.run("chat", "drop", "c")
	hasLine(t, o.stderr, `deleted chat "c" with 1 messages and 2 members`)
	s.prints("[]", "chat", "list", "--as", "bob", "-o", "json")
}

func TestDropDeletesNoKeysThatAreNoChat(t *testing.T) {
	t.Parallel()
	s := newChatCommands(t)
	db := redistest.Open(t, s.url)
	s.must("chat", "create", "--id", "c", "--as", "ann", "--channel", "hello")
	var hash string
	for _, key := range db.Keys(t.Context(), "*").Val() {
		if db.HExists(t.Context(), key, "kind").Val() {
			hash = key
		}
	}
	for name, foreign := range map[string]func() error{
		"another type": func() error { return db.Set(t.Context(), hash, "no chat", 0).Err() },
		"another hash": func() error { return db.HSet(t.Context(), hash, "name", "ann").Err() },
	} {
		put(t, db.Del(t.Context(), hash).Err())
		put(t, foreign())
		before := db.DBSize(t.Context()).Val()
		for _, args := range [][]string{{"chat", "drop", "c"}, {"chat", "drop", "c", "ann"}} {
			o := s.run(args...)
			if o.code != cli.ExitFailed {
				t.Errorf("%s: exit code %d", name, o.code)
			}
			hasLine(t, o.stderr, "skidway: nothing was deleted: the keys in Redis hold something that is not a chat: ", `chat "c"`)
		}
		if after := db.DBSize(t.Context()).Val(); after != before || db.Exists(t.Context(), hash).Val() != 1 {
			t.Errorf("%s: of %d keys there are %d", name, before, after)
		}
	}
}

func TestLimitsOfAChatAreShownAndChanged(t *testing.T) {
	t.Parallel()
	s := newChatCommands(t)
	info := func() (v chatInfoJSON) {
		t.Helper()
		put(t, json.Unmarshal([]byte(s.must("chat", "info", "c", "-o", "json")), &v))
		return v
	}
	s.must("chat", "create", "--id", "c", "--as", "ann", "--channel", "--keep", "2", "--keep-age", "1h")
	for range 3 {
		s.must("chat", "send", "c", "--as", "uploader", "hello")
	}
	if v := info(); v.Kept != 2 || v.Bytes != 2*13 || v.Oldest != 2 || v.Last != 3 || v.Keep != 2 || v.KeepAge != 3600 || v.Kind != "channel" {
		t.Errorf("got %+v", v)
	}
	s.must("chat", "limit", "c", "--keep-bytes", "13B", "--drop-away", "2h")
	if v := info(); v.Kept != 1 || v.Keep != 2 || v.KeepBytes != 13 || v.KeepAge != 3600 || v.DropAway != 7200 {
		t.Errorf("got %+v", v)
	}
	hasLine(t, s.must("chat", "info", "c", "-o", "table"), "keep bytes", "13 B")
	hasLine(t, s.must("chat", "info", "c"), "drop_away,2h0m0s")
	s.must("chat", "limit", "c", "--none", "--keep", "5")
	if v := info(); v.Keep != 5 || v.KeepBytes != 0 || v.KeepAge != 0 || v.DropAway != 0 {
		t.Errorf("got %+v", v)
	}
	s.prints("chat,kind,unread,missed,last,error\nc,channel,1,2,3,", "chat", "list", "--as", "ann")
}

func TestChatRefusesWrongUsage(t *testing.T) {
	t.Parallel()
	s := newChatCommands(t)
	s.must("chat", "create", "--id", "c", "--as", "ann")
	for name, c := range map[string]struct {
		args, want string
		code       int
	}{
		"id taken":            {"create --id c --as ann", "it exists already", cli.ExitFailed},
		"unknown chat":        {"read nothing --as ann", "there is no such chat", cli.ExitFailed},
		"follow unknown chat": {"read nothing --as ann --follow", "there is no such chat", cli.ExitFailed},
		"read as a stranger":  {"read c --as eve", "not a member", cli.ExitFailed},
		"send as a stranger":  {"send c --as eve hello", "not a member", cli.ExitFailed},
		"join nothing":        {"join nothing --as ann", "there is no such chat", cli.ExitFailed},
		"leave nothing":       {"leave nothing --as ann", "there is no such chat", cli.ExitFailed},
		"leave as a stranger": {"leave c --as eve", "not a member", cli.ExitFailed},
		"drop a stranger":     {"drop c eve", "not a member", cli.ExitFailed},
		"limit nothing":       {"limit nothing --keep 1", "there is no such chat", cli.ExitFailed},
		"no sender":           {"send c hello", `"as"`, cli.ExitUsage},
		"empty name":          {"read --as=", "it is empty", cli.ExitUsage},
		"no message":          {"send c --as ann", "missing MESSAGE", cli.ExitUsage},
		"no chat":             {"send --as ann", "missing ID", cli.ExitUsage},
		"two messages":        {"send c --as ann hello world", "quotes", cli.ExitUsage},
		"bad id":              {"create --id a{b --as ann", "can't be part of a name", cli.ExitUsage},
		"bad URL":             {"send c --as ann --url nowhere", "whole URL", cli.ExitUsage},
		"no change":           {"limit c", "nothing to change", cli.ExitUsage},
		"away too short":      {"limit c --drop-away 2s", "1m0s", cli.ExitUsage},
		"unknown command":     {"raed c", "did you mean read", cli.ExitUsage},
		"Redis away":          {"list --as ann --redis unix:///nowhere.sock", "nowhere.sock", cli.ExitUnreachable},
		"embedded":            {"list --as ann --redis embedded:", "embedded", cli.ExitUsage},
	} {
		t.Run(name, func(t *testing.T) {
			o := s.run(append([]string{"chat"}, strings.Fields(c.args)...)...)
			if o.code != c.code || o.stdout != "" {
				t.Errorf("exit code %d, standard output %q", o.code, o.stdout)
			}
			hasLine(t, o.stderr, c.want)
		})
	}
}

func TestChatMessageComesFromStandardInput(t *testing.T) {
	t.Parallel()
	s := newChatCommands(t)
	c := s.command("chat", "create", "--id", "c", "--as", "ann", "--member", "bob", "-")
	c.Stdin = strings.NewReader("two\nlines\n")
	if o := finish(t, c); o.code != cli.ExitDone {
		t.Fatal(o)
	}
	wantText(t, texts(s.messages("chat", "read", "--as", "bob", "--peek")), "c/1 ann: two\nlines\n")
	hasLine(t, s.must("chat", "read", "--as", "bob", "-o", "table"), "ann: two")
}

func TestRefusedFirstMessageLeavesNoChat(t *testing.T) {
	t.Parallel()
	s := newChatCommands(t)
	big := filepath.Join(t.TempDir(), "big")
	put(t, os.WriteFile(big, make([]byte, chat.MaxBody+1), 0o600))
	file, err := os.Open(big)
	put(t, err)
	c := s.command("chat", "create", "--id", "c", "--as", "ann", "-")
	c.Stdin = file
	if o := finish(t, c); o.code != cli.ExitUsage || o.stdout != "" {
		t.Errorf("exit code %d, printed %q", o.code, o.stdout)
	}
	s.must("chat", "create", "--id", "c", "--as", "ann", "again")
	for _, to := range [][]string{{"chat", "send", "c", "--as", "ann", ""}, {"mail", "send", "b", "--as", "ann", ""}, {"dm", "send", "b", "--as", "ann", ""}} {
		if o := s.run(to...); o.code != cli.ExitUsage {
			t.Errorf("%q: exit code %d for an empty message", to, o.code)
		}
	}
	if o := s.run("-q", "chat", "limit", "c"); o.code != cli.ExitUsage {
		t.Errorf("chat limit without a limit: exit code %d", o.code)
	}
}
