package kinds

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	htmltemplate "html/template"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	gomail "github.com/wneessen/go-mail"

	"skidway/workers"
)

// An emailBody is what a message says, in plain text, HTML or both.
type emailBody struct{ subject, text, html string }

func (b emailBody) size() int64 { return int64(len(b.subject) + len(b.text) + len(b.html)) }

// write makes HTML an alternative of the text, the better one, where both are
// there.
func (b emailBody) write(message *gomail.Msg) {
	if b.text != "" {
		message.SetBodyString(gomail.TypeTextPlain, b.text)
	}
	switch {
	case b.html == "":
	case b.text == "":
		message.SetBodyString(gomail.TypeTextHTML, b.html)
	default:
		message.AddAlternativeString(gomail.TypeTextHTML, b.html)
	}
}

// render makes the body of what a job gives: plain text, templates in the job,
// or templates in files.
func (e *Email) render(ctx context.Context, args EmailArgs) (emailBody, error) {
	var sources emailSources
	switch {
	case args.Template != "":
		var err error
		if sources, err = e.readTemplate(args.Template, args.Subject); err != nil {
			return emailBody{}, err
		}
	case args.Data == nil:
		body := emailBody{args.Subject, args.Text, args.HTML}
		return body, e.checkSize(body)
	default:
		sources = emailSources{
			subject: emailSource{"field subject", args.Subject},
			text:    emailSource{"field text", args.Text},
			html:    emailSource{"field html", args.HTML},
		}
	}
	body, err := sources.execute(ctx, args.Data, e.config.MaxSize)
	switch {
	case err != nil && ctx.Err() != nil:
		return emailBody{}, fmt.Errorf("template: %w", context.Cause(ctx))
	case err != nil:
		return emailBody{}, workers.Dead(err)
	}
	return body, e.checkSize(body)
}

func (e *Email) checkSize(body emailBody) error {
	if body.size() > e.config.MaxSize {
		return workers.Dead(fmt.Errorf("%w: its text has %d bytes, at most %d are allowed", ErrEmailTooLarge, body.size(), e.config.MaxSize))
	}
	return nil
}

// An emailSource is a template and where it comes from.
type emailSource struct{ name, text string }

type emailSources struct{ subject, text, html emailSource }

// readTemplate reads the files of a template. They are read each time: a
// changed one is used at once, and a folder may be replaced by another.
func (e *Email) readTemplate(name, subject string) (s emailSources, err error) {
	if e.config.Templates == "" {
		return s, fmt.Errorf("template %s: this worker is configured with no folder of templates", name)
	}
	folder, err := os.OpenRoot(e.config.Templates)
	if err != nil {
		return s, fmt.Errorf("folder of templates: %w", err)
	}
	defer func() { _ = folder.Close() }()
	read := func(suffix string) (emailSource, error) {
		file := filepath.FromSlash(name) + suffix
		path := filepath.Join(e.config.Templates, file)
		text, err := folder.ReadFile(file)
		return emailSource{path, string(text)}, fileError("template", path, err)
	}
	if subject != "" {
		s.subject = emailSource{"field subject", subject}
	} else if s.subject, err = read(".subject.tmpl"); err != nil {
		return s, err
	}
	var textErr, htmlErr error
	s.text, textErr = read(".txt.tmpl")
	s.html, htmlErr = read(".html.tmpl")
	switch noText, noHTML := errors.Is(textErr, fs.ErrNotExist), errors.Is(htmlErr, fs.ErrNotExist); {
	case noText && noHTML:
		return s, workers.Dead(fmt.Errorf("template: neither %s nor %s is there", s.text.name, s.html.name))
	case noText:
		return s, htmlErr
	case noHTML:
		return s, textErr
	}
	return s, cmp.Or(textErr, htmlErr)
}

// fileError says what is wrong with a file that a job needs. A file that isn't
// there or lies outside makes the job dead; want of resources passes.
func fileError(what, path string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s %s: %w", what, path, err)
	var passing interface{ Temporary() bool }
	if errors.As(err, &passing) && passing.Temporary() {
		return err
	}
	return workers.Dead(err)
}

func (s emailSources) execute(ctx context.Context, data Data, limit int64) (body emailBody, err error) {
	if data == nil {
		data = Data{} // a key that it lacks is an error, as in any other
	}
	if body.subject, err = s.subject.executeText(ctx, data, limit); err != nil {
		return body, err
	}
	if body.subject = strings.TrimSpace(body.subject); hasControl(body.subject) {
		return body, fmt.Errorf("%s: the subject %.200q holds a line break or another control character", s.subject.name, body.subject)
	}
	if body.text, err = s.text.executeText(ctx, data, limit); err != nil {
		return body, err
	}
	if body.html, err = s.html.executeHTML(ctx, data, limit); err != nil {
		return body, err
	}
	if body.text == "" && body.html == "" {
		return body, fmt.Errorf("%s: the templates have made an empty message", cmp.Or(s.text.name, s.html.name))
	}
	return body, nil
}

func (s emailSource) executeText(ctx context.Context, data Data, limit int64) (string, error) {
	parsed, err := template.New(s.name).Option("missingkey=error").Funcs(endable(ctx)).Parse(s.text)
	if err != nil {
		return "", err
	}
	for _, t := range parsed.Templates() {
		makeEndable(t.Tree)
	}
	return s.write(parsed, data, limit)
}

func (s emailSource) executeHTML(ctx context.Context, data Data, limit int64) (string, error) {
	parsed, err := htmltemplate.New(s.name).Option("missingkey=error").Funcs(endable(ctx)).Parse(s.text)
	if err != nil {
		return "", err
	}
	for _, t := range parsed.Templates() {
		makeEndable(t.Tree)
	}
	return s.write(parsed, data, limit)
}

func (s emailSource) write(parsed interface{ Execute(io.Writer, any) error }, data Data, limit int64) (string, error) {
	out := &boundedText{left: limit}
	if err := parsed.Execute(out, data); err != nil {
		return "", fmt.Errorf("%s: %w", s.name, err)
	}
	return out.String(), nil
}

// ErrEmailTooLarge: text and attachments are more than [EmailConfig.MaxSize].
var ErrEmailTooLarge = errors.New("the message is too large")

// A boundedText stops a template that writes without end.
type boundedText struct {
	strings.Builder
	left int64
}

func (b *boundedText) Write(p []byte) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, ErrEmailTooLarge
	}
	return b.Builder.Write(p)
}
