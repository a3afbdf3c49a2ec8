package kinds

import (
	"bytes"
	"encoding/json"
	"net/mail"
	"net/textproto"
	"slices"
	"strings"
	"testing"

	"skidway/queue"
)

// Whatever a job says: what Check lets through becomes a message with the
// headers it was to have and no others, or is refused.
func FuzzEmailArgsAddNoHeader(f *testing.F) {
	f.Add([]byte(`{"to": "Ada <ada@example.com>", "subject": "Hello", "text": "x", "headers": {"X-A": "1"}}`))
	f.Add([]byte(`{"to": ["a@b", "=?utf-8?q?a=0D=0AX:_y?= <b@c>"], "html": "<p>", "reply_to": "c@d", "bcc": "e@f"}`))
	f.Add([]byte(`{"to": "a@b", "subject": "{{.x}}", "text": "{{.x}}", "data": {"x": "\r\nBcc: c@d\r\n\r\n"}}`))
	f.Add([]byte("{\"to\": \"a@b\", \"subject\": \"a\u2028b \u0085\", \"text\": \".\\r\\n.\\r\\n\", \"headers\": {\"X\": \"" + strings.Repeat("a ", 99) + "\"}}"))
	email, err := NewEmail(EmailConfig{Host: "127.0.0.1", From: "shop@example.com", MaxSize: 1 << 16})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var args EmailArgs
		if json.Unmarshal(data, &args) != nil || args.Check() != nil {
			return
		}
		composed, err := email.compose(t.Context(), &queue.Job{ID: "mail:0:n1-0", Args: data}, args)
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
