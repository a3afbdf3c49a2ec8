package email

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
	"text/template/parse"

	gomail "github.com/wneessen/go-mail"

	"skidway/workers"
)

// A content is the subject and the body of a message, in plain text, HTML or both.
type content struct{ subject, text, html string }

func (b content) size() int64 { return int64(len(b.subject) + len(b.text) + len(b.html)) }

// write sets the body. If there are both, HTML is the preferred alternative of the
// text.
func (b content) write(message *gomail.Msg) {
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

// render returns the content of a message: the job's text, or the result of its
// templates, which are in the job or in files.
func (e *Sender) render(ctx context.Context, args Args) (content, error) {
	var sources templates
	switch {
	case args.Template != "":
		var err error
		if sources, err = e.readTemplate(args.Template, args.Subject); err != nil {
			return content{}, err
		}
	case args.Data == nil:
		body := content{args.Subject, args.Text, args.HTML}
		return body, e.checkSize(body)
	default:
		sources = templates{
			subject: source{"field subject", args.Subject},
			text:    source{"field text", args.Text},
			html:    source{"field html", args.HTML},
		}
	}
	body, err := sources.execute(ctx, args.Data, e.config.MaxSize)
	switch {
	case err != nil && ctx.Err() != nil:
		return content{}, fmt.Errorf("template: %w", context.Cause(ctx))
	case err != nil:
		return content{}, workers.Dead(err)
	}
	return body, e.checkSize(body)
}

func (e *Sender) checkSize(body content) error {
	if body.size() > e.config.MaxSize {
		return workers.Dead(fmt.Errorf("%w: its text has %d bytes, at most %d are allowed", ErrTooLarge, body.size(), e.config.MaxSize))
	}
	return nil
}

// A source is a template and the name of its place in error messages.
type source struct{ name, text string }

type templates struct{ subject, text, html source }

// readTemplate reads the files of a template. It reads them for each message, so that
// a changed file is used at once, and the folder may be replaced.
func (e *Sender) readTemplate(name, subject string) (s templates, err error) {
	if e.config.Templates == "" {
		return s, fmt.Errorf("template %s: this worker is configured with no folder of templates", name)
	}
	folder, err := os.OpenRoot(e.config.Templates)
	if err != nil {
		return s, fmt.Errorf("folder of templates: %w", err)
	}
	defer func() { _ = folder.Close() }()
	read := func(suffix string) (source, error) {
		file := filepath.FromSlash(name) + suffix
		path := filepath.Join(e.config.Templates, file)
		text, err := folder.ReadFile(file)
		return source{path, string(text)}, fileError("template", path, err)
	}
	if subject != "" {
		s.subject = source{"field subject", subject}
	} else if s.subject, err = read(".subject.tmpl"); err != nil {
		return s, err
	}
	var textErr, htmlErr error
	s.text, textErr = read(".txt.tmpl")
	s.html, htmlErr = read(".html.tmpl")
	switch noText, noHTML := errors.Is(textErr, fs.ErrNotExist), errors.Is(htmlErr, fs.ErrNotExist); {
	case noText && noHTML:
		return s, workers.Dead(fmt.Errorf("template: neither %s nor %s exists", s.text.name, s.html.name))
	case noText:
		return s, htmlErr
	case noHTML:
		return s, textErr
	}
	return s, cmp.Or(textErr, htmlErr)
}

// fileError returns the error of a file that a job needs. It makes the job dead,
// unless the error is temporary, such as too many open files.
func fileError(what, path string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s %s: %w", what, path, err)
	var temporary interface{ Temporary() bool }
	if errors.As(err, &temporary) && temporary.Temporary() {
		return err
	}
	return workers.Dead(err)
}

func (s templates) execute(ctx context.Context, data Data, limit int64) (body content, err error) {
	if data == nil {
		data = Data{} // a missing key is an error here, too
	}
	if body.subject, err = s.subject.executeText(ctx, data, limit); err != nil {
		return body, err
	}
	if body.subject = strings.TrimSpace(body.subject); hasControl(body.subject) {
		return body, fmt.Errorf("%s: the subject %.200q contains a line break or another control character", s.subject.name, body.subject)
	}
	if body.text, err = s.text.executeText(ctx, data, limit); err != nil {
		return body, err
	}
	if body.html, err = s.html.executeHTML(ctx, data, limit); err != nil {
		return body, err
	}
	if body.text == "" && body.html == "" {
		return body, fmt.Errorf("%s: the templates produce an empty message", cmp.Or(s.text.name, s.html.name))
	}
	return body, nil
}

func (s source) executeText(ctx context.Context, data Data, limit int64) (string, error) {
	parsed, err := template.New(s.name).Option("missingkey=error").Funcs(boundedFuncs(limit)).Funcs(endable(ctx)).Parse(s.text)
	if err != nil {
		return "", err
	}
	for _, t := range parsed.Templates() {
		makeEndable(t.Tree)
	}
	return s.write(parsed, data, limit)
}

func (s source) executeHTML(ctx context.Context, data Data, limit int64) (string, error) {
	parsed, err := htmltemplate.New(s.name).Option("missingkey=error").Funcs(boundedFuncs(limit)).Funcs(endable(ctx)).Parse(s.text)
	if err != nil {
		return "", err
	}
	for _, t := range parsed.Templates() {
		makeEndable(t.Tree)
	}
	return s.write(parsed, data, limit)
}

func (s source) write(parsed interface{ Execute(io.Writer, any) error }, data Data, limit int64) (string, error) {
	out := &boundedText{left: limit}
	if err := parsed.Execute(out, data); err != nil {
		return "", fmt.Errorf("%s: %w", s.name, err)
	}
	return out.String(), nil
}

// ErrTooLarge: text and attachments together exceed [Config.MaxSize].
var ErrTooLarge = errors.New("the message is too large")

// A boundedText returns ErrTooLarge when a template has written too much.
type boundedText struct {
	strings.Builder
	left int64
}

func (b *boundedText) Write(p []byte) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, ErrTooLarge
	}
	return b.Builder.Write(p)
}

// checkEnd is the name of a function that templates call at each step of a range and
// at the start of each template. Without it a template that writes nothing could
// run for years.
const checkEnd = "skidwayCheckEnd"

// endable returns the functions that make a template end when ctx is done.
func endable(ctx context.Context) map[string]any {
	return map[string]any{checkEnd: func() (bool, error) { return true, context.Cause(ctx) }}
}

// makeEndable inserts the calls of checkEnd.
func makeEndable(tree *parse.Tree) {
	if tree == nil || tree.Root == nil {
		return
	}
	// It assigns a variable, so that html/template has nothing to escape.
	trees, err := parse.Parse("", "{{$_ := "+checkEnd+"}}", "", "", map[string]any{checkEnd: checkEnd})
	if err != nil {
		return // it is a constant, which parses
	}
	call := trees[""].Root.Nodes[0]
	interrupt(tree.Root, call)
	tree.Root.Nodes = append([]parse.Node{call.Copy()}, tree.Root.Nodes...)
}

// interrupt inserts the call at the start of every range below a list.
func interrupt(list *parse.ListNode, call parse.Node) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		var branch *parse.BranchNode
		switch node := node.(type) {
		case *parse.IfNode:
			branch = &node.BranchNode
		case *parse.WithNode:
			branch = &node.BranchNode
		case *parse.RangeNode:
			branch = &node.BranchNode
		default:
			continue
		}
		interrupt(branch.List, call)
		interrupt(branch.ElseList, call)
		if node.Type() == parse.NodeRange {
			branch.List.Nodes = append([]parse.Node{call.Copy()}, branch.List.Nodes...)
		}
	}
}
