package email_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"skidway/queue"
	"skidway/workers"
	"skidway/workers/kinds/email"
)

func TestArgsOfEmailAreChecked(t *testing.T) {
	t.Parallel()
	many := make([]string, email.MaxRecipients+1)
	for i := range many {
		many[i] = "ada@example.com"
	}
	cases := []struct {
		name   string
		field  string // empty: nothing is wrong
		change func(*email.Args)
	}{
		{"as it is", "", func(*email.Args) {}},
		{"html alone", "", func(a *email.Args) { a.Text, a.HTML = "", "<p>" }},
		{"only bcc", "", func(a *email.Args) { a.To, a.Bcc = nil, []string{"bob@example.com"} }},
		{"no recipient", "to", func(a *email.Args) { a.To = nil }},
		{"too many", "to", func(a *email.Args) { a.Cc = many }},
		{"no address", "to[1]", func(a *email.Args) { a.To = append(a.To, "bob") }},
		{"two addresses in one", "cc[0]", func(a *email.Args) { a.Cc = []string{"bob@example.com, cyd@example.com"} }},
		{"domain that is not allowed", "to[0]", func(a *email.Args) { a.To = []string{"ada@-ü.example"} }},
		{"line break in bcc", "bcc[0]", func(a *email.Args) { a.Bcc = []string{"bob@example.com\r\nX: y"} }},
		{"line break in an encoded name", "reply_to[0]", func(a *email.Args) { a.ReplyTo = []string{"=?utf-8?q?a=0D=0AX:_y?= <bob@example.com>"} }},
		{"sender", "from", func(a *email.Args) { a.From = "nobody" }},
		{"line break in subject", "subject", func(a *email.Args) { a.Subject = "a\nb" }},
		{"no body", "text", func(a *email.Args) { a.Text = "" }},
		{"template and text", "template", func(a *email.Args) { a.Template = "welcome" }},
		{"template outside", "template", func(a *email.Args) { a.Text, a.Template = "", "../welcome" }},
		{"header of the message's own", "headers.message-ID", func(a *email.Args) { a.Headers = map[string]string{"message-ID": "1"} }},
		{"header of content", "headers.Content-Type", func(a *email.Args) { a.Headers = map[string]string{"Content-Type": "x"} }},
		{"no name of a header", `headers."A: b\r\nC"`, func(a *email.Args) { a.Headers = map[string]string{"A: b\r\nC": "1"} }},
		{"line break in a header", "headers.X-A", func(a *email.Args) { a.Headers = map[string]string{"X-A": "1\r\nBcc: b@example.com"} }},
		{"empty header", "headers.X-A", func(a *email.Args) { a.Headers = map[string]string{"X-A": " "} }},
		{"attachment of nothing", "attachments[0]", func(a *email.Args) { a.Attachments = []email.Attachment{{Name: "x"}} }},
		{"attachment of two", "attachments[0]", func(a *email.Args) { a.Attachments = []email.Attachment{{Path: "x", URL: "https://x"}} }},
		{"attachment by another scheme", "attachments[0].url", func(a *email.Args) { a.Attachments = []email.Attachment{{URL: "file:///etc/passwd"}} }},
		{"attachment outside", "attachments[0].path", func(a *email.Args) { a.Attachments = []email.Attachment{{Path: "../x"}} }},
		{"line break in a file's name", "attachments[0].name", func(a *email.Args) { a.Attachments = []email.Attachment{{Path: "x", Name: "a\r\nb"}} }},
		{"content type", "attachments[0].content_type", func(a *email.Args) {
			a.Attachments = []email.Attachment{{Path: "x", ContentType: "text/csv\r\nX: y"}}
		}},
		{"content type of a message", "attachments[0].content_type", func(a *email.Args) {
			a.Attachments = []email.Attachment{{Path: "x", ContentType: "Message/RFC822"}}
		}},
		{"content type of several parts", "attachments[0].content_type", func(a *email.Args) {
			a.Attachments = []email.Attachment{{Path: "x", ContentType: "multipart/mixed; boundary=b"}}
		}},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			args := hello()
			test.change(&args)
			err := args.Check()
			var wrong *workers.FieldError
			switch {
			case test.field == "" && err != nil:
				t.Error(err)
			case test.field == "":
			case !errors.As(err, &wrong) || wrong.Field != test.field || !errors.Is(err, queue.ErrInvalid):
				t.Errorf("%v, want an error of field %s", err, test.field)
			}
		})
	}
}

func TestAddressMayBeAStringOrAList(t *testing.T) {
	t.Parallel()
	args := fromJSON(t, `{"to": "ada@example.com", "cc": ["bob@example.com", "cyd@example.com"], "bcc": null}`)
	if !reflect.DeepEqual(args.To, email.Addresses{"ada@example.com"}) || len(args.Cc) != 2 || args.Bcc != nil {
		t.Errorf("%+v", args)
	}
}

func TestBadEmailConfigIsRefusedByField(t *testing.T) {
	t.Parallel()
	cases := map[string]email.Config{
		"host":        {},
		"port":        {Host: "h", Port: 70000},
		"tls":         {Host: "h", TLS: "ssl"},
		"auth":        {Host: "h", Auth: "magic", Username: "u"},
		"username":    {Host: "h", Password: "open sesame"},
		"hello":       {Host: "h", Hello: "a b"},
		"domain":      {Host: "h", Domain: "a@b"},
		"connections": {Host: "h", Connections: -1},
		"timeout":     {Host: "h", Timeout: -1},
		"per minute":  {Host: "h", PerMinute: -1},
		"max size":    {Host: "h", MaxSize: -1},
		"field from":  {Host: "h", From: "nobody"},
		"templates":   {Host: "h", Templates: "/does/not/exist"},
		"attachments": {Host: "h", Attachments: []string{"email_args_test.go"}},
	}
	for field, config := range cases {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			_, err := email.New(config)
			if !errors.Is(err, queue.ErrInvalid) || !strings.Contains(err.Error(), "email: "+field) || strings.Contains(err.Error(), "sesame") {
				t.Errorf("%v, want an error of %s", err, field)
			}
		})
	}
}
