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

// An content is what a message says, in plain text, HTML or both.
type content struct{ subject, text, html string }

func (b content) size() int64 { return int64(len(b.subject) + len(b.text) + len(b.html)) }

// write makes HTML an alternative of the text, the better one, where both are
// there.
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

// render makes the body of what a job gives: plain text, templates in the job,
// or templates in files.
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

// An source is a template and where it comes from.
type source struct{ name, text string }

type templates struct{ subject, text, html source }

// readTemplate reads the files of a template. They are read each time: a
// changed one is used at once, and a folder may be replaced by another.
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

func (s templates) execute(ctx context.Context, data Data, limit int64) (body content, err error) {
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

// ErrTooLarge: text and attachments are more than [Config.MaxSize].
var ErrTooLarge = errors.New("the message is too large")

// A boundedText stops a template that writes without end.
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

// goOn is what a template calls at each turn of a range and whenever a template
// begins: it can turn for years and write nothing, and nobody can stop it.
const goOn = "skidwayGoOn"

// endable gives what makes a template end with ctx.
func endable(ctx context.Context) map[string]any {
	return map[string]any{goOn: func() (bool, error) { return true, context.Cause(ctx) }}
}

// makeEndable puts the calls in.
func makeEndable(tree *parse.Tree) {
	if tree == nil || tree.Root == nil {
		return
	}
	// A variable: html/template has nothing to escape then.
	trees, err := parse.Parse("", "{{$_ := "+goOn+"}}", "", "", map[string]any{goOn: goOn})
	if err != nil {
		return // of a constant: it can't be
	}
	call := trees[""].Root.Nodes[0]
	interrupt(tree.Root, call)
	tree.Root.Nodes = append([]parse.Node{call.Copy()}, tree.Root.Nodes...)
}

// interrupt puts a call at the start of every range below a list.
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
