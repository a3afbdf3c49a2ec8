package kinds_test

import (
	"sync"
	"testing"
	"time"

	"skidway/queue"
)

func TestMessagesShareAConnection(t *testing.T) {
	t.Parallel()
	s := startMailServer(t, nil)
	email := newEmail(t, s.config)
	for range 20 {
		if err := email.Send(t.Context(), &queue.Job{ID: "mail:0:n1-0"}, hello()); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.received()) != 20 || s.connected() != 1 {
		t.Errorf("%d messages over %d connections", len(s.received()), s.connected())
	}
}

func TestRefusedMessageLeavesItsConnectionForTheNext(t *testing.T) {
	t.Parallel()
	s := startMailServer(t, func(s *mailServer) {
		s.answer = func(_, address string) error {
			if address == "bob@example.com" {
				return refuse(550, "no such user")
			}
			return nil
		}
	})
	email := newEmail(t, s.config)
	bob := hello()
	bob.To = []string{"bob@example.com"}
	expectEmail(t, runEmail(t, email, bob), queue.AsDead)
	expectEmail(t, runEmail(t, email, hello()), queue.AsSucceeded)
	if s.connected() != 1 || len(s.received()[0].to) != 1 {
		t.Errorf("%d connections, sent to %s", s.connected(), s.received()[0].to)
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	s := startMailServer(t, func(s *mailServer) { s.config.Connections = 2 })
	email := newEmail(t, s.config)
	var senders sync.WaitGroup
	for range 16 {
		senders.Go(func() {
			if err := email.Send(t.Context(), &queue.Job{ID: "mail:0:n1-0"}, hello()); err != nil {
				t.Error(err)
			}
		})
	}
	senders.Wait()
	if len(s.received()) != 16 || s.most > 2 {
		t.Errorf("%d messages, %d connections at once", len(s.received()), s.most)
	}
}

func TestIdleConnectionIsClosed(t *testing.T) {
	t.Parallel()
	s := startMailServer(t, func(s *mailServer) { s.config.IdleTimeout = time.Millisecond })
	expectEmail(t, runEmail(t, newEmail(t, s.config), hello()), queue.AsSucceeded)
	<-s.leave
}

func TestCloseClosesConnectionsAndLaterOnesAtOnce(t *testing.T) {
	t.Parallel()
	s := startMailServer(t, nil)
	email := newEmail(t, s.config)
	expectEmail(t, runEmail(t, email, hello()), queue.AsSucceeded)
	email.Close()
	<-s.leave
	expectEmail(t, runEmail(t, email, hello()), queue.AsSucceeded)
	<-s.leave
}
