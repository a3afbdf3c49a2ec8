package chat_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"skidway/distribute/chat"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// A cutter passes on all between a client and Redis, until it is told to cut:
// then one answer is swallowed and its connection closed.
type cutter struct {
	listener net.Listener
	server   string
	cut      atomic.Int64 // which answer from now on, 1 is the next; 0: none
	work     sync.WaitGroup
}

// cutting gives a database of its own that is reached through a cutter.
func cutting(t *testing.T) (*cutter, *rdb.DB) {
	folder, err := os.MkdirTemp("", "cut") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	server, query, _ := strings.Cut(strings.TrimPrefix(redistest.URL(t), "unix://"), "?")
	socket := filepath.Join(folder, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{listener: listener, server: server}
	c.work.Go(c.serve)
	t.Cleanup(func() {
		_ = listener.Close()
		c.work.Wait()
		_ = os.RemoveAll(folder)
	})
	return c, redistest.Open(t, "unix://"+socket+"?"+query)
}

func (c *cutter) serve() {
	for {
		client, err := c.listener.Accept()
		if err != nil {
			return
		}
		c.work.Go(func() {
			defer func() { _ = client.Close() }()
			server, err := net.Dial("unix", c.server)
			if err != nil {
				return
			}
			defer func() { _ = server.Close() }()
			c.work.Go(func() {
				_, _ = io.Copy(server, client)
				_ = server.Close()
			})
			c.answers(client, server)
		})
	}
}

func (c *cutter) answers(client, server net.Conn) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := server.Read(buffer)
		if err != nil || c.cut.Load() > 0 && c.cut.Add(-1) == 0 {
			return
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func TestLostAnswerOfSendIsTold(t *testing.T) {
	t.Parallel()
	c, db := cutting(t)
	g := chat.NewGroup(db)
	create(t, g, "c", chat.Channel, "ann")
	send(t, g, "c", "bob", "one", 1)
	c.cut.Store(1)
	var unknown *rdb.OutcomeUnknownError
	if _, err := g.Send(t.Context(), "c", "bob", chat.Text("two")); !errors.As(err, &unknown) {
		t.Fatalf("got error %v", err)
	}
	wantStrings(t, pending(t, g, "c", "ann"), "one", "two")
}

func TestLostAnswersOfOtherCallsDoNotShow(t *testing.T) {
	t.Parallel()
	c, db := cutting(t)
	g, ctx := chat.NewGroup(db), t.Context()
	create(t, g, "warm", chat.Channel, "ann") // the scripts are known from now on
	if err := g.Leave(ctx, "warm", "ann"); err != nil {
		t.Fatal(err)
	}
	for nth := range int64(4) {
		id := fmt.Sprint("chat", nth)
		for _, step := range []struct {
			name string
			call func() error
		}{
			{"create", func() error { _, err := g.Create(ctx, id, chat.CreateOptions{Members: []string{"ann"}}); return err }},
			{"join", func() error { return g.Join(ctx, id, "bob", chat.FromOldest) }},
			{"ack", func() error { _, err := g.Ack(ctx, id, "bob", 0); return err }},
			{"leave", func() error { return g.Leave(ctx, id, "bob") }},
			{"last one leaves", func() error { return g.Leave(ctx, id, "ann") }},
		} {
			c.cut.Store(nth)
			if err := step.call(); err != nil {
				t.Errorf("%s without answer %d: %v", step.name, nth, err)
			}
		}
		_, err := g.Info(ctx, id)
		wantErr(t, err, chat.ErrNoChat)
	}
}
