package kinds_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"skidway/queue"
	"skidway/workers"
	"skidway/workers/kinds"
)

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
	args.Attachments = []kinds.Attachment{
		{Path: "a/table.csv"},
		{Path: filepath.Join(second, "notes"), Name: "Übersicht.bin", ContentType: "application/x-notes"},
		{URL: "https://example.com/x/bill.pdf?id=1"},
	}
	expectEmail(t, runEmail(t, newEmail(t, s.config), args), queue.AsSucceeded)
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
	email := newEmail(t, s.config)
	cases := []struct {
		name       string
		attachment kinds.Attachment
		words      []string
	}{
		{"missing", kinds.Attachment{Path: "gone.csv"}, []string{"attachment gone.csv", "not exist"}},
		{"outside", kinds.Attachment{Path: filepath.Join(outside, "secret")}, []string{outside, "outside of the folders", folder}},
		{"outside by dots", kinds.Attachment{Path: folder + "/../x"}, []string{"/../x", "outside of the folders"}},
		{"relative by dots", kinds.Attachment{Path: "../x"}, []string{"attachments[0].path"}},
		{"link out of the folder", kinds.Attachment{Path: "link"}, []string{"attachment link", "escapes"}},
		{"a folder", kinds.Attachment{Path: "folder"}, []string{"attachment folder", "no regular file"}},
		{"too large with the text", kinds.Attachment{Path: "large"}, []string{"attachment large", "too large", "1000 bytes"}},
		{"refused, without what lets one in", kinds.Attachment{URL: "https://ada:opensesame@example.com/large?sig=opensesame"}, []string{"attachment https://example.com/large: GET"}},
		{"too large, by URL", kinds.Attachment{URL: "https://example.com/large"}, []string{"attachment https://example.com/large", "more than"}},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			args := hello()
			args.Attachments = []kinds.Attachment{test.attachment}
			expectEmail(t, runEmail(t, email, args), queue.AsDead, test.words...)
		})
	}
	if n := s.connected(); n != 0 {
		t.Errorf("%d connections for messages that can't be made", n)
	}
}

func TestAttachmentThatCantBeFetchedNowIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := startMailServer(t, func(s *mailServer) { s.config.Fetcher = fetched{} })
	args := hello()
	args.Attachments = []kinds.Attachment{{URL: "https://example.com/x"}}
	expectEmail(t, runEmail(t, newEmail(t, s.config), args), queue.AsRetry, "attachment https://example.com/x: 503")
}

// The client of the kind http.request is the fetcher of attachments.
var _ kinds.Fetcher = (*kinds.HTTP)(nil)
