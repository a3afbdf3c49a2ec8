package email_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"skidway/queue"
	"skidway/workers"
	"skidway/workers/kinds/email"
	"skidway/workers/workerstest"
)

func TestDroppedConnectionIsRetried(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"connect", "mail", "rcpt", "data"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			s := startMailServer(t, func(s *mailServer) { s.answer = refuseAt(step, errDrop) })
			outcome := runEmail(t, newEmail(t, s.config), hello())
			expectEmail(t, outcome, queue.AttemptRetry, "mail server 127.0.0.1:")
			// The server may close while the content is on its way, or
			// when it was sent whole: the client cannot always know.
			if step != "data" && errors.Is(outcome.Err, email.ErrUnconfirmed) {
				t.Error(outcome)
			}
		})
	}
}

func TestUnreachableServerIsRetried(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	_ = listener.Close()
	sender := newEmail(t, email.Config{Host: "127.0.0.1", Port: port, From: "shop@example.com"})
	expectEmail(t, runEmail(t, sender, hello()), queue.AttemptRetry, "connection refused")
}

func TestMessageWithoutAnswerIsSentAgainWithTheSameMessageID(t *testing.T) {
	t.Parallel()
	var drops atomic.Int32
	var taken receivedMail
	s := startMailServer(t, func(s *mailServer) {
		s.unanswered = func(m receivedMail) { taken = m }
		s.answer = func(step, _ string) error {
			if step == "end" && drops.Add(1) == 1 {
				return errDrop
			}
			return nil
		}
	})
	w := newMailWorker(t, s)
	w.enqueue(t, hello())
	outcome := w.drain(t)
	expectEmail(t, outcome, queue.AttemptRetry, "the connection was lost before the answer")
	if !errors.Is(outcome.Err, email.ErrUnconfirmed) {
		t.Error(outcome.Err)
	}
	w.Advance(time.Hour)
	expectEmail(t, w.drain(t), queue.AttemptSucceeded)
	first := taken.parse(t).Header.Get("Message-Id")
	second := s.received()[0].parse(t).Header.Get("Message-Id")
	if first == "" || first != second {
		t.Errorf("Message-ID first %q, then %q", first, second)
	}
}

func TestSlowServerTimesOut(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"connect", "mail", "rcpt", "end"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			for timeout := 50 * time.Millisecond; ; timeout *= 10 { // on a busy machine a step before may take that long
				given, reached := make(chan struct{}), atomic.Bool{}
				s := startMailServer(t, func(s *mailServer) {
					s.config.Timeout = timeout
					s.answer = func(at, _ string) error {
						if at == step {
							reached.Store(true)
							<-given
						}
						return nil
					}
				})
				t.Cleanup(func() { close(given) }) // before the server is closed
				outcome := runEmail(t, newEmail(t, s.config), hello())
				expectEmail(t, outcome, queue.AttemptRetry)
				if !reached.Load() && timeout < time.Minute {
					continue
				}
				if (step == "end") != errors.Is(outcome.Err, email.ErrUnconfirmed) {
					t.Error(outcome)
				}
				return
			}
		})
	}
}

func TestEndOfContextEndsTheWaitForAServer(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"connect", "rcpt", "end"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			given := make(chan struct{})
			ctx, end := context.WithCancelCause(t.Context())
			reason := errors.New("enough of this")
			s := startMailServer(t, func(s *mailServer) {
				s.answer = func(at, _ string) error {
					if at == step {
						end(reason)
						<-given
					}
					return nil
				}
			})
			t.Cleanup(func() { close(given) })
			err := newEmail(t, s.config).Send(ctx, jobOf(&queue.Job{ID: "mail:0:n1-0"}, hello()))
			if !errors.Is(err, reason) {
				t.Errorf("%v, want %v", err, reason)
			}
		})
	}
}

func TestConnectionThatDiedIdleIsReplaced(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		answer error
	}{
		{"it was dropped", errDrop},
		{"the server closes the connection", refuse(421, "idle for too long")},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var mails atomic.Int32
			s := startMailServer(t, func(s *mailServer) {
				s.answer = func(step, _ string) error {
					if step == "mail" && mails.Add(1) == 2 {
						return test.answer
					}
					return nil
				}
			})
			sender := newEmail(t, s.config)
			expectEmail(t, runEmail(t, sender, hello()), queue.AttemptSucceeded)
			expectEmail(t, runEmail(t, sender, hello()), queue.AttemptSucceeded)
			if len(s.received()) != 2 || s.connected() != 2 {
				t.Errorf("%d messages over %d connections", len(s.received()), s.connected())
			}
		})
	}
}

func TestUnconfirmedMessageIsNotRepeatedOnAnotherConnection(t *testing.T) {
	t.Parallel()
	var ends atomic.Int32
	s := startMailServer(t, func(s *mailServer) {
		s.answer = func(step, _ string) error {
			if step == "end" && ends.Add(1) == 2 {
				return errDrop
			}
			return nil
		}
	})
	sender := newEmail(t, s.config)
	expectEmail(t, runEmail(t, sender, hello()), queue.AttemptSucceeded)
	outcome := runEmail(t, sender, hello())
	expectEmail(t, outcome, queue.AttemptRetry)
	if !errors.Is(outcome.Err, email.ErrUnconfirmed) || ends.Load() != 2 {
		t.Errorf("sent %d times: %s", ends.Load(), outcome)
	}
}

func TestMessageLargerThanTheServerAcceptsIsDead(t *testing.T) {
	t.Parallel()
	s := startMailServer(t, func(s *mailServer) { s.server.MaxMessageBytes = 100 })
	outcome := runEmail(t, newEmail(t, s.config), hello())
	expectEmail(t, outcome, queue.AttemptDead, "this server accepts 100")
	if !errors.Is(outcome.Err, email.ErrTooLarge) {
		t.Error(outcome.Err)
	}
}

func TestAddressBeyondASCIIGoesOnlyToAServerThatAcceptsIt(t *testing.T) {
	t.Parallel()
	args := hello()
	args.ReplyTo = []string{"jürgen@example.com"}
	s := startMailServer(t, nil)
	expectEmail(t, runEmail(t, newEmail(t, s.config), args), queue.AttemptDead, "SMTPUTF8")
	args.To, args.ReplyTo = args.ReplyTo, nil
	expectEmail(t, runEmail(t, newEmail(t, s.config), args), queue.AttemptDead, "SMTPUTF8")
	s = startMailServer(t, func(s *mailServer) { s.server.EnableSMTPUTF8 = true })
	expectEmail(t, runEmail(t, newEmail(t, s.config), args), queue.AttemptSucceeded)
	if to := s.received()[0].to[0]; to != "jürgen@example.com" {
		t.Errorf("sent to %s", to)
	}
}

func TestDomainBeyondASCIIIsSentInItsASCIIForm(t *testing.T) {
	t.Parallel()
	s := startMailServer(t, nil)
	args := hello()
	args.From, args.To, args.ReplyTo = "shop@bücher.example", []string{"Ada <ada@Bücher.example>"}, []string{"office@bücher.example"}
	expectEmail(t, runEmail(t, newEmail(t, s.config), args), queue.AttemptSucceeded)
	got := s.received()[0]
	if got.from != "shop@xn--bcher-kva.example" || got.to[0] != "ada@xn--bcher-kva.example" {
		t.Errorf("sent from %s to %s", got.from, got.to)
	}
	if header := got.parse(t).Header; header.Get("Reply-To") != "<office@xn--bcher-kva.example>" || !strings.HasSuffix(header.Get("Message-Id"), "@xn--bcher-kva.example>") {
		t.Errorf("%v", header)
	}
}

func TestGreylistedMessageIsSentLaterAndOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked := 0
	s := startMailServer(t, func(s *mailServer) {
		s.answer = func(step, _ string) error {
			mu.Lock()
			defer mu.Unlock()
			if step == "rcpt" {
				if asked++; asked == 1 {
					return refuse(451, "greylisted, come again")
				}
			}
			return nil
		}
	})
	w := newMailWorker(t, s)
	w.enqueue(t, hello())
	expectEmail(t, w.drain(t), queue.AttemptRetry, "refused: 451 ", "4.1.1 greylisted, come again")
	w.Advance(time.Hour)
	expectEmail(t, w.drain(t), queue.AttemptSucceeded)
	if mails := s.received(); len(mails) != 1 {
		t.Errorf("%d messages arrived", len(mails))
	}
}

// A mailWorker runs a job several times.
type mailWorker struct{ *workerstest.Worker }

func newMailWorker(t *testing.T, s *mailServer) mailWorker {
	t.Helper()
	w := mailWorker{workerstest.New(t, nil)}
	workers.Handle(w.Pool, newEmail(t, s.config).Send)
	return w
}

func (w mailWorker) enqueue(t *testing.T, args email.Args) {
	t.Helper()
	if _, err := w.Client.Enqueue(t.Context(), args, nil); err != nil {
		t.Fatal(err)
	}
}

// drain runs the one job that is due.
func (w mailWorker) drain(t *testing.T) workerstest.Outcome {
	t.Helper()
	outcomes := w.Drain()
	if len(outcomes) != 1 {
		t.Fatalf("%d jobs were run: %s", len(outcomes), outcomes)
	}
	return outcomes[0]
}
