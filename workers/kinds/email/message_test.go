package email_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"skidway/queue"
	"skidway/workers"
	"skidway/workers/kinds/email"
)

func TestMessageArrivesUnchanged(t *testing.T) {
	t.Parallel()
	s := startMailServer(t, nil)
	args := email.Args{
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
	expectEmail(t, outcome, queue.AttemptSucceeded)

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
	want := email.Result{MessageID: message.Header.Get("Message-Id"), Accepted: everybody, Reply: "2.0.0 OK: queued"}
	var got email.Result
	if err := json.Unmarshal(outcome.Result, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("result %s, want %+v", outcome.Result, want)
	}
}

func crlf(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }

// decodeParts returns the parts of a message by their content types, attachments
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
			expectEmail(t, runEmail(t, newEmail(t, s.config), hello()), queue.AttemptDead, "refused: 550 ", "5.1.1 we don't want this", "mail server 127.0.0.1:")
		})
	}
}

// refuseAt answers so at one step, and accepts the others.
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
		as      queue.Disposition
		words   []string
	}{
		{"one is unknown", map[string]error{"bob@example.com": refuse(550, "no such user")}, queue.AttemptDead,
			[]string{"recipient bob@example.com refused: 550 ", "5.1.1 no such user", "none of 3"}},
		{"one is busy", map[string]error{"cyd@example.com": refuse(450, "mailbox busy")}, queue.AttemptRetry,
			[]string{"recipient cyd@example.com refused: 450"}},
		{"one is busy, one unknown",
			map[string]error{"cyd@example.com": refuse(450, "mailbox busy"), "bob@example.com": refuse(550, "no such user")},
			queue.AttemptDead, []string{"recipient bob@example.com", "recipient cyd@example.com"}},
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
	if err := newEmail(t, s.config).Send(t.Context(), jobOf(job, hello())); err != nil {
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
	sender, other := newEmail(t, s.config), newEmail(t, config)
	first := &queue.Job{ID: "mail:0:n1795299599363-0", Args: []byte("1")}
	second := &queue.Job{ID: "mail:0:n1795299599363-1", Args: []byte("1")}
	elsewhere := &queue.Job{ID: first.ID, Args: []byte("2")} // of another Redis
	for _, send := range []error{
		sender.Send(t.Context(), jobOf(first, hello())), sender.Send(t.Context(), jobOf(first, hello())),
		sender.Send(t.Context(), jobOf(second, hello())), sender.Send(t.Context(), jobOf(elsewhere, hello())),
		other.Send(t.Context(), jobOf(first, hello())),
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
	expectEmail(t, runEmail(t, newEmail(t, s.config), args), queue.AttemptDead, "field subject")
}

func TestMissingSettingsDontMakeJobsDead(t *testing.T) {
	t.Parallel()
	s := startMailServer(t, func(s *mailServer) { s.config.From = "" })
	sender := newEmail(t, s.config)
	expectEmail(t, runEmail(t, sender, hello()), queue.AttemptRetry, "no sender")
	args := hello()
	args.From, args.Text, args.Template = "shop@example.com", "", "welcome"
	expectEmail(t, runEmail(t, sender, args), queue.AttemptRetry, "template welcome: this worker is configured with no folder")
	args = hello()
	args.From, args.Attachments = "shop@example.com", []email.Attachment{{Path: "a.csv"}}
	expectEmail(t, runEmail(t, sender, args), queue.AttemptRetry, "attachment a.csv: this worker is configured with no folder")
	args.Attachments = []email.Attachment{{URL: "https://example.com/a.csv"}}
	expectEmail(t, runEmail(t, sender, args), queue.AttemptRetry, "attachment https://example.com/a.csv: this worker is configured to read none")
}

// fetched is a Fetcher of files by URL.
type fetched map[string]string

func (f fetched) Fetch(_ context.Context, url string, limit int64) ([]byte, string, error) {
	content, there := f[url]
	switch {
	case strings.Contains(url, "opensesame"):
		return nil, "", workers.Dead(errors.New("GET https://example.com/large: 403"))
	case !there:
		return nil, "", errors.New("503 come again")
	case int64(len(content)) > limit:
		return nil, "", workers.Dead(fmt.Errorf("more than %d bytes", limit))
	}
	return []byte(content), "application/pdf", nil
}

func TestAttachmentsArrive(t *testing.T) {
	t.Parallel()
	first := writeFiles(t, map[string]string{"a/table.csv": "day,requests\n"})
	second := writeFiles(t, map[string]string{"notes": strings.Repeat("\x00\xff\r\n", 1000)})
	s := startMailServer(t, func(s *mailServer) {
		s.config.Attachments = []string{first, second}
		s.config.Fetcher = fetched{"https://example.com/x/bill.pdf?id=1": "%PDF"}
	})
	args := hello()
	args.Attachments = []email.Attachment{
		{Path: "a/table.csv"},
		{Path: filepath.Join(second, "notes"), Name: "Übersicht.bin", ContentType: "application/x-notes"},
		{URL: "https://example.com/x/bill.pdf?id=1"},
	}
	expectEmail(t, runEmail(t, newEmail(t, s.config), args), queue.AttemptSucceeded)
	message := s.received()[0].parse(t)
	parts := decodeParts(t, message.Header.Get("Content-Type"), message.Body)
	want := map[string]string{
		"table.csv": "day,requests\n", "bill.pdf": "%PDF",
		"Übersicht.bin": strings.Repeat("\x00\xff\r\n", 1000),
	}
	for name, content := range want {
		if parts[name] != content {
			t.Errorf("%s: %.100q", name, parts[name])
		}
	}
	for _, contentType := range []string{"text/csv", "application/x-notes", "application/pdf"} {
		if !strings.Contains(string(s.received()[0].data), "Content-Type: "+contentType) {
			t.Errorf("no attachment of type %s", contentType)
		}
	}
}

func TestBadAttachmentIsDeadAndNamed(t *testing.T) {
	t.Parallel()
	outside := writeFiles(t, map[string]string{"secret": "secret"})
	folder := writeFiles(t, map[string]string{"ok": "12345", "large": strings.Repeat("x", 996), "folder/file": "x"})
	if err := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	s := startMailServer(t, func(s *mailServer) {
		s.config.MaxSize = 1000
		s.config.Attachments = []string{folder}
		s.config.Fetcher = fetched{"https://example.com/large": strings.Repeat("x", 1001)}
	})
	sender := newEmail(t, s.config)
	cases := []struct {
		name       string
		attachment email.Attachment
		words      []string
	}{
		{"missing", email.Attachment{Path: "gone.csv"}, []string{"attachment gone.csv", "not exist"}},
		{"outside", email.Attachment{Path: filepath.Join(outside, "secret")}, []string{outside, "outside of the folders", folder}},
		{"outside by dots", email.Attachment{Path: folder + "/../x"}, []string{"/../x", "outside of the folders"}},
		{"relative by dots", email.Attachment{Path: "../x"}, []string{"attachments[0].path"}},
		{"link out of the folder", email.Attachment{Path: "link"}, []string{"attachment link", "escapes"}},
		{"a folder", email.Attachment{Path: "folder"}, []string{"attachment folder", "not a regular file"}},
		{"too large with the text", email.Attachment{Path: "large"}, []string{"attachment large", "too large", "1000 bytes"}},
		{"refused, without what lets one in", email.Attachment{URL: "https://ada:opensesame@example.com/large?sig=opensesame"}, []string{"attachment https://example.com/large: GET"}},
		{"too large, by URL", email.Attachment{URL: "https://example.com/large"}, []string{"attachment https://example.com/large", "more than"}},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			args := hello()
			args.Attachments = []email.Attachment{test.attachment}
			expectEmail(t, runEmail(t, sender, args), queue.AttemptDead, test.words...)
		})
	}
	if n := s.connected(); n != 0 {
		t.Errorf("%d connections for messages that can't be made", n)
	}
}

func TestAttachmentThatCannotBeFetchedNowIsRetried(t *testing.T) {
	t.Parallel()
	s := startMailServer(t, func(s *mailServer) { s.config.Fetcher = fetched{} })
	args := hello()
	args.Attachments = []email.Attachment{{URL: "https://example.com/x"}}
	expectEmail(t, runEmail(t, newEmail(t, s.config), args), queue.AttemptRetry, "attachment https://example.com/x: 503")
}

// The client of the kind http.request is the fetcher of attachments.
