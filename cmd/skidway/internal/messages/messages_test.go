package messages

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat"
	"skidway/distribute/chat/group"
	"skidway/distribute/chat/room"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// run runs a command of this package, and returns its error.
func run(ctx context.Context, t *testing.T, url string, out io.Writer, messages *os.File, newCommand func(*cli.App) *cobra.Command, args ...string) error {
	t.Helper()
	c := newCommand(&cli.App{Out: out, Console: &cli.Console{Out: messages}, Redis: url})
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetIn(strings.NewReader(""))
	c.SetArgs(args)
	return c.ExecuteContext(ctx)
}

func pipe(t *testing.T) (*bufio.Scanner, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return bufio.NewScanner(r), w
}

func TestChatIsNotCreatedForAnEmptyMessage(t *testing.T) {
	t.Parallel()
	url := redistest.URL(t)
	g := group.NewClient(handle.New(redistest.Open(t, url)))
	for name, message := range map[string]string{"argument": "", "standard input": "-"} {
		var out bytes.Buffer
		err := run(t.Context(), t, url, &out, os.Stderr, Chat, "create", "--id", "c", "--as", "ann", message)
		if cli.ExitCode(err) != cli.ExitUsage || out.Len() > 0 {
			t.Errorf("%s: got %v, printed %q", name, err, out.String())
		}
		if _, err := g.Info(t.Context(), "c"); !errors.Is(err, chat.ErrNoChat) {
			t.Errorf("%s: the chat was created: %v", name, err)
		}
	}
}

// lobby opens an empty room with ann inside.
func lobby(t *testing.T, url string) (*rdb.DB, *room.Client, room.Credential) {
	t.Helper()
	db := redistest.Open(t, url)
	r := room.NewClient(handle.New(db))
	if err := r.Create(t.Context(), "lobby", nil); err != nil {
		t.Fatal(err)
	}
	ann, err := r.Enter(t.Context(), "lobby", &room.EnterOptions{ID: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	return db, r, ann
}

func TestFollowerOfARoomGoesOnAfterRedisHasLostMessages(t *testing.T) {
	t.Parallel()
	url := redistest.URL(t)
	db, r, ann := lobby(t, url)
	send := func(text string) {
		t.Helper()
		if _, err := r.Send(t.Context(), ann, chat.Text(text)); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"one", "two", "three"} {
		send(text)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lines, out := pipe(t)
	notes, messages := pipe(t)
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, t, url, out, messages, Room, "read", "lobby", "--as", "ann", "--follow")
		_, _ = out.Close(), messages.Close()
	}()
	want := func(from *bufio.Scanner, text string) {
		t.Helper()
		if !from.Scan() || !strings.Contains(from.Text(), text) {
			cancel()
			t.Fatalf("got %q, want a line with %q; the command ended with %v", from.Text(), text, <-ended)
		}
	}
	for _, text := range []string{"chat,id", ",one,", ",two,", ",three,"} {
		want(lines, text)
	}
	const lose = `redis.call('HSET', KEYS[1], 'last', 1)
		redis.call('DEL', KEYS[2])
		redis.call('XADD', KEYS[2], '1-0', 'sender', 'ann', 'body', 'one', 'time', '1700000000000')`
	hash := db.Prefix() + ":room:{lobby}"
	if err := db.Eval(t.Context(), lose, []string{hash, hash + ":log"}).Err(); err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	want(notes, "reading on after 1")
	send("four")
	want(lines, ",four,")
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the command ended with %v", err)
	}
}

func TestPositionThatARoomNeverHadIsWrongUsage(t *testing.T) {
	t.Parallel()
	url := redistest.URL(t)
	lobby(t, url)
	err := run(t.Context(), t, url, io.Discard, os.Stderr, Room, "read", "lobby", "--as", "ann", "--follow", "--since", "9")
	if cli.ExitCode(err) != cli.ExitUsage {
		t.Errorf("got %v", err)
	}
}

// A pagedSource has messages with the ids 1 to last. It calls onRead before each read.
type pagedSource struct {
	last, read, acked uint64
	onRead            func()
}

func (s *pagedSource) pages(after uint64, limit int) (page []chat.Message) {
	for id := after + 1; id <= s.last && len(page) < limit; id++ {
		page = append(page, chat.Message{ID: id, Sender: "ann", Content: chat.Content{Body: []byte("<hello>\n\u009b")}})
	}
	return page
}

// A pagedReader is a source of a pagedSource.
type pagedReader struct{ *pagedSource }

func (s pagedReader) read(_ context.Context, after uint64, limit int) ([]chat.Message, error) {
	s.onRead()
	page := s.pages(after, limit)
	s.pagedSource.read += uint64(len(page))
	return page, nil
}

func (s pagedReader) ack(_ context.Context, messages []chat.Message) error {
	s.acked = messages[len(messages)-1].ID
	return nil
}

func (s pagedReader) wait(context.Context, uint64) error { return nil }

func TestUnreadMessagesArePrintedPageByPage(t *testing.T) {
	t.Parallel()
	const last = 2*chat.MaxMessages + 1
	for _, format := range []string{"table", "csv", "json"} {
		for _, count := range []uint64{0, last} {
			var out bytes.Buffer
			s := &pagedSource{last: count}
			s.onRead = func() {
				if s.acked != s.read || s.read > 0 && !strings.Contains(out.String(), "hello") {
					t.Errorf("%s: %d messages are read, %d are acknowledged, %d bytes are printed", format, s.read, s.acked, out.Len())
				}
			}
			r := &reader{App: &cli.App{Out: &out}, output: &cli.Choice{Word: format}}
			frame := func(messages []chat.Message) any {
				return cli.Object{{Key: "total", Value: 7}, {Key: "messages", Value: messageView.Objects(messagesOf("", messages))}}
			}
			if err := r.printAll(t.Context(), pagedReader{s}, func() any { return frame(nil) }); err != nil || s.acked != count {
				t.Errorf("%s: %v, acknowledged up to %d of %d", format, err, s.acked, count)
			}
			var want bytes.Buffer
			all := s.pages(0, last)
			if err := printMessages(&cli.App{Out: &want}, format, messagesOf("", all), frame(all)); err != nil || out.String() != want.String() {
				t.Errorf("%s of %d messages differs from that of all at once: %v\n%.300s", format, count, err, out.String())
			}
		}
	}
}

func TestChatsAreReadWhenTheyArePrinted(t *testing.T) {
	t.Parallel()
	g := group.NewClient(handle.New(redistest.DB(t)))
	for _, id := range []string{"a", "b"} {
		if _, err := g.Create(t.Context(), id, &group.CreateOptions{Members: []string{"ann", "bob"}}); err != nil {
			t.Fatal(err)
		}
	}
	send := func(id string) {
		if _, err := g.Send(t.Context(), id, "bob", chat.Content{Body: []byte("hello")}); err != nil {
			t.Error(err)
		}
	}
	send("a")
	send("b")
	r := &chatReader{reader: &reader{App: &cli.App{}, follow: true}, as: "ann", group: g, printed: map[string]uint64{}, failed: map[string]bool{}}
	printed := map[string]int{}
	err := r.take(t.Context(), "", func(messages []message) error {
		if printed[messages[0].chat] += len(messages); messages[0].chat == "a" {
			send("b")
		}
		return nil
	})
	if err != nil || printed["a"] != 1 || printed["b"] != 2 {
		t.Errorf("printed are %v, %v", printed, err)
	}
}
