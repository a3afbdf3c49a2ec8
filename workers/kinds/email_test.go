package kinds_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"reflect"
	"strings"
	"testing"
	"time"

	"skidway/queue"
	"skidway/workers/kinds"
)

func TestMessageArrivesAsItWasGiven(t *testing.T) {
	t.Parallel()
	s := startMailServer(t, nil)
	args := kinds.EmailArgs{
		From:    "Grüße <greetings@example.com>",
		To:      []string{"Ada <ada@example.com>", "bob@example.com"},
		Cc:      []string{"ada@example.com", "cyd@example.com"},
		Bcc:     []string{"dan@example.com"},
		ReplyTo: []string{"office@example.com"},
		Subject: "Übersicht für {{.heute}}",
		Text:    "Guten Tag,\n\n.ein Punkt\n" + strings.Repeat("lang ", 300),
		HTML:    "<p>Guten Tag</p>",
		Headers: map[string]string{"X-Campaign": "7", "List-Unsubscribe": "<https://example.com/u?id=1>"},
	}
	outcome := runEmail(t, newEmail(t, s.config), args)
	expectEmail(t, outcome, queue.AsSucceeded)

	mails := s.received()
	if len(mails) != 1 {
		t.Fatalf("%d messages arrived", len(mails))
	}
	everybody := []string{"ada@example.com", "bob@example.com", "cyd@example.com", "dan@example.com"}
	if mails[0].from != "greetings@example.com" || !reflect.DeepEqual(mails[0].to, everybody) {
		t.Errorf("envelope: from %s to %s", mails[0].from, mails[0].to)
	}
	message := mails[0].parse(t)
	decoder := new(mime.WordDecoder)
	for name, want := range map[string]string{
		"From": "Grüße <greetings@example.com>", "To": `"Ada" <ada@example.com>, <bob@example.com>`,
		"Cc": "<ada@example.com>, <cyd@example.com>", "Bcc": "", "Reply-To": "<office@example.com>",
		"Subject": args.Subject, "X-Campaign": "7", "List-Unsubscribe": "<https://example.com/u?id=1>",
		"User-Agent": "", "X-Mailer": "",
	} {
		if got, err := decoder.DecodeHeader(message.Header.Get(name)); err != nil || got != want {
			t.Errorf("%s: %q, want %q (%v)", name, got, want, err)
		}
	}
	if date, err := message.Header.Date(); err != nil || date.Unix() != outcome.Job.Enqueued.Unix() {
		t.Errorf("dated %s, enqueued %s (%v)", date, outcome.Job.Enqueued, err)
	}
	parts := decodeParts(t, message.Header.Get("Content-Type"), message.Body)
	if parts["text/plain"] != crlf(args.Text) || parts["text/html"] != args.HTML {
		t.Errorf("parts: %q", parts)
	}
	want := kinds.EmailResult{MessageID: message.Header.Get("Message-Id"), Accepted: everybody, Reply: "2.0.0 OK: queued"}
	var got kinds.EmailResult
	if err := json.Unmarshal(outcome.Result, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("result %s, want %+v", outcome.Result, want)
	}
}

func crlf(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }

// decodeParts gives the parts of a message by their content types, attachments
// by their names.
func decodeParts(t *testing.T, contentType string, body io.Reader) map[string]string {
	t.Helper()
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]string{}
	if !strings.HasPrefix(kind, "multipart/") {
		data, err := io.ReadAll(quotedprintable.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		return map[string]string{kind: string(data)}
	}
	for reader := multipart.NewReader(body, params["boundary"]); ; {
		part, err := reader.NextPart() // decodes quoted-printable
		if err == io.EOF {
			return parts
		}
		if err != nil {
			t.Fatal(err)
		}
		inner := part.Header.Get("Content-Type")
		if strings.HasPrefix(inner, "multipart/") {
			for name, text := range decodeParts(t, inner, part) {
				parts[name] = text
			}
			continue
		}
		var content io.Reader = part
		if part.Header.Get("Content-Transfer-Encoding") == "base64" {
			content = base64.NewDecoder(base64.StdEncoding, part)
		}
		data, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		name, _, err := mime.ParseMediaType(inner)
		if err != nil {
			t.Fatal(err)
		}
		if file := part.FileName(); file != "" {
			if name, err = new(mime.WordDecoder).DecodeHeader(file); err != nil {
				t.Fatal(err)
			}
		}
		parts[name] = string(data)
	}
}

func TestRefusedMessageIsDeadWithTheServersWords(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"mail", "rcpt", "data", "end"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			s := startMailServer(t, func(s *mailServer) {
				s.answer = refuseAt(step, refuse(550, "we don't want this"))
			})
			expectEmail(t, runEmail(t, newEmail(t, s.config), hello()), queue.AsDead, `550 "5.1.1 we don't want this"`, "mail server 127.0.0.1:")
		})
	}
}

// refuseAt answers so at one step, and takes the others.
func refuseAt(step string, answer error) func(string, string) error {
	return func(at, _ string) error {
		if at == step {
			return answer
		}
		return nil
	}
}

func TestMessageGoesToAllRecipientsOrToNone(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name    string
		answers map[string]error
		as      queue.As
		words   []string
	}{
		{"one is unknown", map[string]error{"bob@example.com": refuse(550, "no such user")}, queue.AsDead,
			[]string{`recipient bob@example.com refused: 550 "5.1.1 no such user"`, "none of 3"}},
		{"one is busy", map[string]error{"cyd@example.com": refuse(450, "mailbox busy")}, queue.AsRetry,
			[]string{"recipient cyd@example.com refused: 450"}},
		{"one is busy, one unknown",
			map[string]error{"cyd@example.com": refuse(450, "mailbox busy"), "bob@example.com": refuse(550, "no such user")},
			queue.AsDead, []string{"recipient bob@example.com", "recipient cyd@example.com"}},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := startMailServer(t, func(s *mailServer) {
				s.answer = func(_, address string) error { return test.answers[address] }
			})
			args := hello()
			args.Cc = []string{"bob@example.com", "cyd@example.com"}
			expectEmail(t, runEmail(t, newEmail(t, s.config), args), test.as, test.words...)
			if mails := s.received(); len(mails) != 0 {
				t.Errorf("it was sent to %s", mails[0].to)
			}
		})
	}
}

func TestMessageOfJobThatWaitedIsDatedWhenItIsSent(t *testing.T) {
	t.Parallel()
	s := startMailServer(t, nil)
	job := &queue.Job{ID: "mail:0:d1", Kind: "email.send", Enqueued: time.Now().Add(-30 * 24 * time.Hour)}
	if err := newEmail(t, s.config).Send(t.Context(), job, hello()); err != nil {
		t.Fatal(err)
	}
	date, err := s.received()[0].parse(t).Header.Date()
	if err != nil || time.Since(date) > time.Minute {
		t.Errorf("dated %s (%v)", date, err)
	}
}

func TestMessageIDIsOfTheJob(t *testing.T) {
	t.Parallel()
	s := startMailServer(t, nil)
	config := s.config
	config.Domain = "mail.example.org"
	email, other := newEmail(t, s.config), newEmail(t, config)
	first := &queue.Job{ID: "mail:0:n1795299599363-0", Args: []byte("1")}
	second := &queue.Job{ID: "mail:0:n1795299599363-1", Args: []byte("1")}
	elsewhere := &queue.Job{ID: first.ID, Args: []byte("2")} // of another Redis
	for _, send := range []error{
		email.Send(t.Context(), first, hello()), email.Send(t.Context(), first, hello()),
		email.Send(t.Context(), second, hello()), email.Send(t.Context(), elsewhere, hello()),
		other.Send(t.Context(), first, hello()),
	} {
		if send != nil {
			t.Fatal(send)
		}
	}
	var ids []string
	for _, m := range s.received() {
		ids = append(ids, m.parse(t).Header.Get("Message-Id"))
	}
	if !strings.HasPrefix(ids[0], "<mail-0-n1795299599363-0.") || !strings.HasSuffix(ids[0], "@example.com>") {
		t.Errorf("Message-ID %s", ids[0])
	}
	if ids[0] != ids[1] {
		t.Errorf("the same job has two: %s and %s", ids[0], ids[1])
	}
	if ids[0] == ids[2] || ids[0] == ids[3] {
		t.Errorf("several jobs have one: %s", ids)
	}
	if !strings.HasSuffix(ids[4], "@mail.example.org>") {
		t.Errorf("with a domain: %s", ids[4])
	}
}

func TestWrongArgsAreDead(t *testing.T) {
	t.Parallel()
	s := startMailServer(t, nil)
	args := hello()
	args.Subject = "Hello\r\nBcc: everybody@example.com"
	expectEmail(t, runEmail(t, newEmail(t, s.config), args), queue.AsDead, "field subject")
}

func TestMissingSettingsDontMakeJobsDead(t *testing.T) {
	t.Parallel()
	s := startMailServer(t, func(s *mailServer) { s.config.From = "" })
	email := newEmail(t, s.config)
	expectEmail(t, runEmail(t, email, hello()), queue.AsRetry, "no sender")
	args := hello()
	args.From, args.Text, args.Template = "shop@example.com", "", "welcome"
	expectEmail(t, runEmail(t, email, args), queue.AsRetry, "template welcome: this worker is configured with no folder")
	args = hello()
	args.From, args.Attachments = "shop@example.com", []kinds.Attachment{{Path: "a.csv"}}
	expectEmail(t, runEmail(t, email, args), queue.AsRetry, "attachment a.csv: this worker is configured with no folder")
	args.Attachments = []kinds.Attachment{{URL: "https://example.com/a.csv"}}
	expectEmail(t, runEmail(t, email, args), queue.AsRetry, "attachment https://example.com/a.csv: this worker is configured to read none")
}
