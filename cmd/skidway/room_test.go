package main

import (
	"bufio"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/redistest"
)

// roomCommands runs room commands on a new database.
type roomCommands struct {
	t   *testing.T
	url string
}

func newRoomCommands(t *testing.T) *roomCommands {
	return &roomCommands{t, redistest.URL(t)}
}

func (v *roomCommands) args(text string, more ...string) []string {
	return append(append([]string{"room"}, strings.Fields(text)...), append(more, "--redis", v.url)...)
}

// run runs a command that must succeed, and returns the line that it prints.
func (v *roomCommands) run(text string, more ...string) string {
	v.t.Helper()
	return strings.TrimSuffix(mustRun(v.t, "", v.args(text, more...)...).stdout, "\n")
}

func (v *roomCommands) fails(code int, want, text string) string {
	v.t.Helper()
	o := skidway(v.t, "", v.args(text)...)
	if o.code != code || o.stdout != "" {
		v.t.Errorf("room %s: exit code %d, want %d; standard output %q", text, o.code, code, o.stdout)
	}
	hasLine(v.t, o.stderr, want)
	return o.stderr
}

// view is what "room read -o json" prints.
type view struct {
	Messages []struct {
		ID                               uint64
		Sender, Message, Nick, Type, URL string
		Time                             string
	}
	Changes []struct {
		Position, Retracted uint64
		By, Time            string
	}
	Position uint64
	More     bool
	TTL      float64 `json:"ttl_seconds"`
	Online   int
	Settings struct {
		Max      float64
		Owner    string
		Password bool
		Mutes    map[string]*string
	}
}

func (v *roomCommands) reads(text string) view {
	v.t.Helper()
	var got view
	if err := json.Unmarshal([]byte(v.run(text+" -o json")), &got); err != nil {
		v.t.Fatal(err)
	}
	return got
}

func TestPeopleMeetInARoom(t *testing.T) {
	t.Parallel()
	v := newRoomCommands(t)
	v.run("create lobby --as ann --max 3 --ttl 1h")
	v.fails(cli.ExitFailed, "it exists already", "create lobby")
	if id := v.run("enter lobby --as ann --nick Annie"); id != "ann" {
		t.Errorf("got id %q", id)
	}
	bob := v.run("enter lobby")
	if len(bob) != 8 {
		t.Errorf("got id %q", bob)
	}
	v.fails(cli.ExitFailed, "a person with this id is in the room", "enter lobby --as ann")
	if id := v.run("send lobby --as ann", "hello all"); id != "1" {
		t.Errorf("got message id %q", id)
	}
	v.run("send lobby --as " + bob + " --type image --url https://example.com/cat.png")

	got := v.reads("read lobby --as " + bob)
	if len(got.Messages) != 2 || len(got.Changes) != 0 || got.Position != 2 || got.Online != 2 || got.TTL < 3500 || got.TTL > 3600 ||
		got.Settings.Owner != "ann" || got.Settings.Max != 3 || got.Settings.Password {
		t.Fatalf("got %+v", got)
	}
	if a, b := got.Messages[0], got.Messages[1]; a.ID != 1 || a.Sender != "ann" || a.Nick != "Annie" || a.Message != "hello all" || a.Time == "" ||
		b.ID != 2 || b.Sender != bob || b.Type != "image" || b.URL != "https://example.com/cat.png" {
		t.Errorf("got %+v", got.Messages)
	}

	v.fails(cli.ExitFailed, "only the owner", "retract lobby 1 --as "+bob)
	v.run("retract lobby 1 --as ann")
	got = v.reads("read lobby --since 2 --as " + bob)
	if len(got.Messages) != 0 || len(got.Changes) != 1 || got.Changes[0].Retracted != 1 || got.Changes[0].By != "ann" || got.Position != 3 {
		t.Errorf("got %+v", got)
	}
	table := v.run("history lobby --as ann -o table")
	hasLine(t, table, "2  ", bob+": ", "<https://example.com/cat.png>")
	hasLine(t, table, "3  ", "ann: (took back message 1)")

	v.run("leave lobby --as " + bob)
	v.fails(cli.ExitFailed, "not in this room", "read lobby --as "+bob)
	v.run("delete lobby")
	v.fails(cli.ExitFailed, "there is no such room", "info lobby")
}

func TestRoomIsChangedLater(t *testing.T) {
	t.Parallel()
	v := newRoomCommands(t)
	v.run("create lobby --as ann")
	v.run("enter lobby --as bob")
	v.fails(cli.ExitFailed, "only the owner", "set lobby --as bob --max 7")
	v.run("set lobby --as ann --max 7 --ttl 3h --owner bob")
	v.run("mute lobby eve --as bob --for 1h")
	v.run("mute lobby ann")
	got := v.reads("read lobby --as bob")
	if s := got.Settings; s.Max != 7 || s.Owner != "bob" || got.TTL < 10700 || s.Mutes["eve"] == nil || len(s.Mutes) != 2 || s.Mutes["ann"] != nil {
		t.Errorf("got %+v", got)
	}
	people := v.run("people lobby -o csv")
	hasLine(t, people, "ann,,,true,")
	hasLine(t, people, "bob,,20", ",false,")
	hasLine(t, v.run("info lobby -o csv"), "owner,bob")
	v.run("enter lobby --as ann")
	v.fails(cli.ExitFailed, "muted in this room", "send lobby hello --as ann")
	v.run("unmute lobby ann")
	v.run("send lobby hello --as ann")
}

func TestWrongPasswordHasTheErrorOfAnUnknownRoom(t *testing.T) {
	t.Parallel()
	v := newRoomCommands(t)
	folder := t.TempDir()
	right, wrong, empty := write(t, folder, "right", "open sesame\n"), write(t, folder, "wrong", "open barley\n"), write(t, folder, "empty", "\n")
	v.fails(cli.ExitFailed, "its first line is empty", "create cellar --password-file "+empty)
	v.run("create cellar --password-file " + right)
	output := v.fails(cli.ExitFailed, "there is no such room, or the password is wrong", "enter cellar --as ann --password-file "+wrong)
	v.run("delete cellar --password-file " + right)
	if none := v.fails(cli.ExitFailed, "", "enter cellar --as ann --password-file "+wrong); none != output {
		t.Errorf("got %q for a wrong password and %q for no room", output, none)
	}

	v.run("create cellar --password-file " + right)
	var pass struct{ Room, ID, Key string }
	if err := json.Unmarshal([]byte(v.run("enter cellar --as ann -o json --password-file "+right)), &pass); err != nil ||
		pass.Room != "cellar" || pass.ID != "ann" || len(pass.Key) != 64 {
		t.Fatalf("got %+v, %v", pass, err)
	}
	key := write(t, folder, "key", pass.Key+"\n")
	v.run("send cellar --as ann --key-file "+key, "psst")
	if got := v.reads("read cellar --as ann --password-file " + right); len(got.Messages) != 1 || !got.Settings.Password {
		t.Errorf("got %+v", got)
	}
	v.fails(cli.ExitFailed, "there is no such room", "read cellar --as ann")
	v.run("set cellar --key-file " + key + " --new-password-file " + wrong)
	v.fails(cli.ExitFailed, "there is no such room", "read cellar --as ann --key-file "+key)
	v.run("set cellar --password-file " + wrong + " --new-password-file " + empty)
	v.run("enter cellar --as bob")
}

func TestHistoryIsReadByPages(t *testing.T) {
	t.Parallel()
	v := newRoomCommands(t)
	v.run("create lobby")
	v.run("enter lobby --as ann")
	for _, text := range []string{"one", "two", "three", "four"} {
		v.run("send lobby --as ann", text)
	}
	for args, want := range map[string]string{
		"--limit 2":            "three four",
		"--limit 2 --before 3": "one two",
		"--limit 1 --after 0":  "one",
		"--limit 9 --after 2":  "three four",
		"--limit 0":            "one two three four",
	} {
		var texts []string
		for _, m := range v.reads("history lobby --as ann " + args).Messages {
			texts = append(texts, m.Message)
		}
		if got := strings.Join(texts, " "); got != want {
			t.Errorf("history %s prints %q, want %q", args, got, want)
		}
	}
}

func TestRoomIsFollowed(t *testing.T) {
	t.Parallel()
	v := newRoomCommands(t)
	v.run("create lobby")
	v.run("enter lobby --as ann")
	v.run("send lobby --as ann", "before")
	follow := command(t, t.TempDir(), v.args("read lobby --as ann --follow -o json")...)
	out, err := follow.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for _, step := range []struct {
		args []string
		want string
	}{
		{nil, `{"id":1,"sender":"ann","message":"before",`},
		{v.args("send lobby --as ann", "after"), `{"id":2,"sender":"ann","message":"after",`},
		{v.args("retract lobby 1"), `{"position":3,"retracted":1,"by":"",`},
	} {
		if step.args != nil {
			mustRun(t, "", step.args...)
		}
		if !lines.Scan() || !strings.HasPrefix(lines.Text(), step.want) {
			t.Fatalf("got %q, want %q", lines.Text(), step.want)
		}
	}
	if err := follow.Process.Signal(interrupt); err != nil {
		t.Fatal(err)
	}
	if lines.Scan() {
		t.Errorf("it printed %q at the end", lines.Text())
	}
	if err := follow.Wait(); err != nil {
		t.Error(err)
	}
}

func TestRoomRefusesWrongUsage(t *testing.T) {
	t.Parallel()
	v := newRoomCommands(t)
	v.run("create lobby")
	v.run("enter lobby --as ann")
	long := strings.Repeat("x", 201)
	for text, want := range map[string]string{
		"create":                                       "missing NAME",
		"create " + long:                               "more than 200",
		"create {x}":                                   "'{' and '}'",
		"create other --keep 0":                        "--keep starts at 1",
		"create other --ttl -1h":                       "want a length of time",
		"enter lobby --as " + long:                     "more than 200",
		"send lobby --as ann":                          "missing MESSAGE",
		"send lobby":                                   `"as"`,
		"send lobby hello you --as ann":                "put quotes",
		"send lobby --as ann --type smell x":           "a room takes text, image",
		"send lobby --as ann --type image --url data:": "URL",
		"read lobby --as=":                             "--as is empty",
		"read lobby --as ann --since 7":                "the last is 0",
		"history lobby --as ann --before 1 --after 1":  "before",
		"set lobby":                                    "at least one",
		"mute lobby":                                   "missing ID",
		"retract lobby x":                              "want a number",
		"info lobby --password-file a --key-file b":    "key-file",
	} {
		v.fails(cli.ExitUsage, want, text)
	}
	v.fails(cli.ExitFailed, "there is no such message", "retract lobby 7")
	v.fails(cli.ExitFailed, "no such file", "enter lobby --password-file nope")
	key := write(t, t.TempDir(), "key", "zzz")
	v.fails(cli.ExitUsage, "64 digits", "read lobby --as ann --key-file "+key)
	o := skidway(t, "", v.args("send lobby --as ann", "")...)
	if o.code != cli.ExitUsage || !slices.Contains(strings.Split(o.stderr, "\n"), "skidway: body: it is empty") {
		t.Errorf("an empty message: %+v", o)
	}
}

func TestEmptyFileNamesLeaveNoRoomOpen(t *testing.T) {
	t.Parallel()
	s := newChatCommands(t)
	for _, args := range [][]string{
		{"room", "create", "r", "--password-file", ""},
		{"room", "create", "r", "--as", ""},
		{"room", "set", "lobby", "--new-password-file", ""},
		{"room", "info", "lobby", "--key-file", ""},
	} {
		s.run("room", "create", "lobby")
		if o := s.run(args...); o.code != cli.ExitUsage {
			t.Errorf("%q: exit code %d", args, o.code)
		}
	}
	if o := s.run("room", "info", "r"); o.code != cli.ExitFailed {
		t.Errorf("the room was created: %s", o.stdout)
	}
}

func TestNoLimitOfPeopleBreaksARoom(t *testing.T) {
	t.Parallel()
	s := newChatCommands(t)
	s.must("room", "create", "r")
	if o := s.run("room", "set", "r", "--max", "99999999999999999"); o.code != cli.ExitUsage {
		t.Errorf("exit code %d", o.code)
	}
	s.must("room", "info", "r")
}
