package email

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/mail"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"skidway/queue"
	"skidway/workers"
)

// Args that pass Check become a message with the
// headers it was to have and no others, or is refused.
func FuzzEmailArgsAddNoHeader(f *testing.F) {
	f.Add([]byte(`{"to": "Ada <ada@example.com>", "subject": "Hello", "text": "x", "headers": {"X-A": "1"}}`))
	f.Add([]byte(`{"to": ["a@b", "=?utf-8?q?a=0D=0AX:_y?= <b@c>"], "html": "<p>", "reply_to": "c@d", "bcc": "e@f"}`))
	f.Add([]byte(`{"to": "a@b", "subject": "{{.x}}", "text": "{{.x}}", "data": {"x": "\r\nBcc: c@d\r\n\r\n"}}`))
	f.Add([]byte("{\"to\": \"a@b\", \"subject\": \"a\u2028b \u0085\", \"text\": \".\\r\\n.\\r\\n\", \"headers\": {\"X\": \"" + strings.Repeat("a ", 99) + "\"}}"))
	email, err := New(Config{Host: "127.0.0.1", From: "shop@example.com", MaxSize: 1 << 16})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var args Args
		if json.Unmarshal(data, &args) != nil || args.Check() != nil {
			return
		}
		composed, err := email.compose(t.Context(), &workers.Job[Args]{Job: &queue.Job{ID: "mail:0:n1-0", Args: data}, Args: args})
		if err != nil {
			return
		}
		message, err := mail.ReadMessage(bytes.NewReader(composed.content))
		if err != nil {
			t.Fatalf("%v\n%q", err, composed.content)
		}
		allowed := []string{"Cc", "Content-Transfer-Encoding", "Content-Type", "Date", "From", "Message-Id", "Mime-Version", "Reply-To", "Subject", "To"}
		for name := range args.Headers {
			allowed = append(allowed, textproto.CanonicalMIMEHeaderKey(name))
		}
		for name, values := range message.Header {
			if !slices.Contains(allowed, name) {
				t.Errorf("header %s: %q", name, values)
			}
		}
		for line := range bytes.Lines(composed.content) {
			if !bytes.HasSuffix(line, []byte("\r\n")) && len(line) > 0 && bytes.HasSuffix(line, []byte("\n")) {
				t.Errorf("line %q ends with a bare line feed", line)
			}
		}
		for _, address := range append(composed.recipients, composed.sender) {
			if strings.ContainsAny(envelope(address), "\r\n") {
				t.Errorf("address %q", address)
			}
		}
	})
}

func TestMessagesAreSpacedEvenly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start, limiter := time.Now(), newRateLimiter(30)
		var senders sync.WaitGroup
		for range 31 {
			senders.Go(func() {
				if err := limiter.wait(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		senders.Wait()
		if took := time.Since(start); took != time.Minute {
			t.Errorf("30 a minute, and 31 took %s", took)
		}
	})
}

func TestWithoutARateNoMessageWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start, limiter := time.Now(), newRateLimiter(0)
		for range 1000 {
			if err := limiter.wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("it took %s", took)
		}
	})
}

func TestJobThatWouldWaitTooLongIsSnoozedAndReservesNoTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limiter := newRateLimiter(1)
		if err := limiter.wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		hasty, cancel := context.WithTimeout(t.Context(), 100*time.Second)
		defer cancel()
		start := time.Now()
		if err := limiter.wait(hasty); err != workers.Snooze(time.Minute) {
			t.Errorf("%v, want a snooze of a minute", err)
		}
		if err := limiter.wait(t.Context()); err != nil || time.Since(start) != time.Minute {
			t.Errorf("the next message could be sent after %s (%v)", time.Since(start), err)
		}
	})
}

func TestSnoozedJobsComeBackOneAfterAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limiter := newRateLimiter(30)
		back := map[time.Duration]bool{}
		for range 100 {
			if wait, reserved := limiter.reserve(5 * time.Second); !reserved {
				back[wait] = true
			}
		}
		if len(back) < 97 {
			t.Errorf("those of 100 that are snoozed come back at %d times", len(back))
		}
		for range 10000 { // and none so late that the rate is not used
			if wait, _ := limiter.reserve(5 * time.Second); wait > maxSnooze {
				t.Fatalf("snoozed for %s", wait)
			}
		}
	})
}

func TestWaitForTheRateLimitEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limiter := newRateLimiter(1)
		if err := limiter.wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		reason := errors.New("enough of this")
		ctx, end := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { end(reason) })
		if err := limiter.wait(ctx); !errors.Is(err, reason) {
			t.Errorf("%v, want %v", err, reason)
		}
	})
}
