package email

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"mime"
	"net/mail"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/idna"

	"skidway/workers/kinds/internal/fields"
)

// MaxRecipients is the maximal number of recipients of a message.
const MaxRecipients = 1000

// Args are the args of the kind email.send: one message, to one or several
// people. Addresses are written as in RFC 5322: "ada@example.com" or
// "Ada <ada@example.com>".
type Args struct {
	From    string    `json:"from,omitempty"` // empty means [Config.From]
	To      Addresses `json:"to,omitempty"`
	Cc      Addresses `json:"cc,omitempty"`
	Bcc     Addresses `json:"bcc,omitempty"` // in no header
	ReplyTo Addresses `json:"reply_to,omitempty"`

	// Subject, Text and HTML are used as they are if there is no Data; with
	// Data they are templates. A message has Text, HTML, both, or a Template.
	Subject string `json:"subject,omitempty"`
	Text    string `json:"text,omitempty"`
	HTML    string `json:"html,omitempty"`

	// Template is the NAME of files below [Config.Templates]: NAME.txt.tmpl or
	// NAME.html.tmpl or both, and NAME.subject.tmpl if there is no Subject. It
	// replaces Text and HTML.
	Template string `json:"template,omitempty"`

	// Data is the dot of the templates. The job is dead if a template uses a key
	// that Data does not have.
	Data Data `json:"data,omitempty"`

	Attachments []Attachment `json:"attachments,omitempty"`

	// Headers are additional headers. Those that every message has are refused.
	Headers map[string]string `json:"headers,omitempty"`
}

// Kind returns "email.send".
func (Args) Kind() string { return "email.send" }

// An Attachment is a file or the content of a URL: it has a Path or a URL.
type Attachment struct {
	Path        string `json:"path,omitempty"`         // below one of [Config.Attachments]
	URL         string `json:"url,omitempty"`          // http or https, read by [Config.Fetcher]
	Name        string `json:"name,omitempty"`         // empty means the last part of Path or URL
	ContentType string `json:"content_type,omitempty"` // empty means that of the server, or of the name's extension
}

// Addresses is a list of addresses. In JSON a single one may be a string.
type Addresses []string

// UnmarshalJSON decodes a string or an array of strings.
func (a *Addresses) UnmarshalJSON(data []byte) error {
	if !bytes.HasPrefix(data, []byte(`"`)) {
		return json.Unmarshal(data, (*[]string)(a))
	}
	*a = make(Addresses, 1)
	return json.Unmarshal(data, &(*a)[0])
}

// Data has the values for templates. From JSON, whole numbers become int64, so that
// templates print 3000000 and not 3e+06, and other numbers float64.
type Data map[string]any

// UnmarshalJSON decodes an object.
func (d *Data) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var values map[string]any
	if err := decoder.Decode(&values); err != nil {
		return err
	}
	for key, value := range values {
		values[key] = plainNumbers(value)
	}
	*d = values
	return nil
}

// plainNumbers replaces each json.Number by a number that templates can compare.
func plainNumbers(value any) any {
	switch value := value.(type) {
	case json.Number:
		if n, err := value.Int64(); err == nil {
			return n
		}
		if f, err := value.Float64(); err == nil && !math.IsInf(f, 0) {
			return f
		}
		return value.String()
	case []any:
		for i := range value {
			value[i] = plainNumbers(value[i])
		}
	case map[string]any:
		for key := range value {
			value[key] = plainNumbers(value[key])
		}
	}
	return value
}

// Check returns a [workers.FieldError] for the first field that is not allowed. It does
// not know the worker's configuration.
func (a Args) Check() error {
	for _, check := range []func() error{a.checkAddresses, a.checkBody, a.checkHeaders} {
		if err := check(); err != nil {
			return err
		}
	}
	for i, attachment := range a.Attachments {
		if err := attachment.check(fmt.Sprintf("attachments[%d]", i)); err != nil {
			return err
		}
	}
	return nil
}

func (a Args) checkAddresses() error {
	if a.From != "" {
		if _, err := parseAddress("from", a.From); err != nil {
			return err
		}
	}
	for _, field := range []struct {
		name      string
		addresses Addresses
	}{{"to", a.To}, {"cc", a.Cc}, {"bcc", a.Bcc}, {"reply_to", a.ReplyTo}} {
		for i, address := range field.addresses {
			if _, err := parseAddress(fmt.Sprintf("%s[%d]", field.name, i), address); err != nil {
				return err
			}
		}
	}
	switch recipients := len(a.To) + len(a.Cc) + len(a.Bcc); {
	case recipients == 0:
		return fields.Wrong("to", "it is empty, and so are cc and bcc: a message needs a recipient")
	case recipients > MaxRecipients:
		return fields.Wrong("to", "%d recipients with cc and bcc: at most %d, make several jobs", recipients, MaxRecipients)
	}
	return nil
}

// parseAddress parses one address, and converts a domain with letters beyond ASCII to
// its ASCII form. It refuses control characters, which a name may contain in an encoded
// form.
func parseAddress(field, text string) (*mail.Address, error) {
	address, err := mail.ParseAddress(text)
	if err != nil {
		return nil, fields.Wrong(field, "%.200q is not an address: %s", text, strings.TrimPrefix(err.Error(), "mail: "))
	}
	if hasControl(address.Name) || hasControl(address.Address) {
		return nil, fields.Wrong(field, "%.200q contains a control character", text)
	}
	at := strings.LastIndexByte(address.Address, '@')
	if domain := address.Address[at+1:]; !isASCII(domain) {
		ascii, err := idna.Lookup.ToASCII(domain)
		if err != nil {
			return nil, fields.Wrong(field, "%.200q has a domain that is not allowed: %s", text, strings.TrimPrefix(err.Error(), "idna: "))
		}
		address.Address = address.Address[:at+1] + ascii
	}
	return address, nil
}

func (a Args) checkBody() error {
	switch {
	case hasControl(a.Subject):
		return fields.Wrong("subject", "%.200q contains a line break or another control character", a.Subject)
	case a.Template == "" && a.Text == "" && a.HTML == "":
		return fields.Wrong("text", "it is empty, and so are html and template: a message needs one of them")
	case a.Template == "":
		return nil
	case a.Text != "" || a.HTML != "":
		return fields.Wrong("template", "set either it, or text and html")
	case !filepath.IsLocal(a.Template) || hasControl(a.Template):
		return fields.Wrong("template", "%.200q is not the name of a template inside of the templates' folder", a.Template)
	}
	return nil
}

// ownHeaders are the headers that every message has, or that servers add.
var ownHeaders = [...]string{
	"bcc", "cc", "date", "dkim-signature", "from", "message-id", "mime-version",
	"received", "reply-to", "return-path", "subject", "to",
}

func (a Args) checkHeaders() error {
	for name, value := range a.Headers {
		field, lower := fmt.Sprintf("headers.%.100s", name), strings.ToLower(name)
		switch {
		case !isHeaderName(name):
			return fields.Wrong(fmt.Sprintf("headers.%.100q", name), "it is not the name of a header: use letters, digits and '-'")
		case slices.Contains(ownHeaders[:], lower) || strings.HasPrefix(lower, "content-"):
			return fields.Wrong(field, "this header is set by the worker")
		case strings.TrimSpace(value) == "":
			return fields.Wrong(field, "it is empty")
		case hasControl(value):
			return fields.Wrong(field, "%.200q contains a line break or another control character", value)
		}
	}
	return nil
}

// isHeaderName reports whether a text is the name of a header (RFC 5322, section
// 3.6.8).
func isHeaderName(name string) bool {
	return name != "" && len(name) <= 76 && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r >= 127 || r == ':'
	})
}

func (a Attachment) check(field string) error {
	if (a.Path == "") == (a.URL == "") {
		return fields.Wrong(field, "set either path or url")
	}
	if a.Path != "" && (hasControl(a.Path) || !filepath.IsAbs(a.Path) && !filepath.IsLocal(a.Path)) {
		return fields.Wrong(field+".path", "%.200q lies outside of every folder", a.Path)
	}
	if a.URL != "" {
		u, err := url.Parse(a.URL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return fields.Wrong(field+".url", "it is not an http or https URL")
		}
	}
	if hasControl(a.Name) || strings.ContainsAny(a.Name, `/\`) {
		return fields.Wrong(field+".name", "%.200q is not the name of a file", a.Name)
	}
	if a.ContentType != "" {
		if _, _, err := mime.ParseMediaType(a.ContentType); err != nil || hasControl(a.ContentType) {
			return fields.Wrong(field+".content_type", "%.200q is not a content type such as text/csv", a.ContentType)
		}
		if isComposite(a.ContentType) {
			return fields.Wrong(field+".content_type", "%.200q cannot be the type of an attachment: use application/octet-stream", a.ContentType)
		}
	}
	return nil
}

// hasControl reports whether text contains a control character, such as a line break.
func hasControl(text string) bool { return strings.ContainsFunc(text, unicode.IsControl) }
