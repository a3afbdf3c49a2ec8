package email

import (
	"bytes"
	"mime"
	"testing"

	gomail "github.com/wneessen/go-mail"
)

func TestAttachedMessagesAreOctetStreams(t *testing.T) {
	if err := mime.AddExtensionType(".eml", "message/rfc822"); err != nil { // not every system has it
		t.Fatal(err)
	}
	for want, file := range map[string]attachedFile{
		"Content-Type: application/octet-stream; name=\"mail.eml\"": {name: "mail.eml"},
		"Content-Type: application/octet-stream; name=\"several\"":  {name: "several", contentType: "multipart/mixed; boundary=b"},
		"Content-Type: text/csv; name=\"table.eml\"":                {name: "table.eml", contentType: "text/csv"},
	} {
		message, content := gomail.NewMsg(), new(bytes.Buffer)
		if err := file.attach(message); err != nil {
			t.Fatal(err)
		}
		if _, err := message.WriteTo(content); err != nil || !bytes.Contains(content.Bytes(), []byte(want)) {
			t.Errorf("%s has no %q (%v)", content, want, err)
		}
	}
}
