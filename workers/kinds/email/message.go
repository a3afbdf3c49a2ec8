package email

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/mail"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"skidway/queue"
	"skidway/workers"
	"skidway/workers/kinds/internal/fields"
)

// An outgoing is a message that can be sent any number of times.
type outgoing struct {
	id         string   // in angle brackets
	sender     string   // of the envelope
	recipients []string // of the envelope, each once
	content    []byte   // header and body

	international bool // an address of the envelope or the header has letters beyond ASCII
}

// maxDateAge bounds how long before the message is made its job may have been
// enqueued for that time to be its date. A message of a delayed job must not look
// old.
const maxDateAge = time.Hour

// compose returns the message of a job. An error in the args makes the job dead.
func (e *Sender) compose(ctx context.Context, job *workers.Job[Args]) (*outgoing, error) {
	args := job.Args
	from, err := e.config.sender(args)
	if err != nil {
		return nil, err
	}
	body, err := e.render(ctx, args)
	if err != nil {
		return nil, err
	}
	files, err := e.attachments(ctx, args.Attachments, e.config.MaxSize-body.size())
	if err != nil {
		return nil, err
	}
	message := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	message.FromMailAddress(from)
	recipients, international, err := setAddresses(message, args)
	if err != nil {
		return nil, workers.Dead(err)
	}
	date := time.Now()
	if age := date.Sub(job.Enqueued); age < maxDateAge {
		date = job.Enqueued
	}
	id := e.messageID(job.Job, from)
	message.SetDateWithValue(date)
	message.SetMessageIDWithValue(id)
	message.Subject(body.subject)
	for name, value := range args.Headers {
		message.SetGenHeader(gomail.Header(name), value)
	}
	body.write(message)
	for _, file := range files {
		if err := file.attach(message); err != nil {
			return nil, err
		}
	}
	var content bytes.Buffer
	if _, err := message.WriteTo(&content); err != nil {
		return nil, workers.Dead(fmt.Errorf("write the message: %w", err))
	}
	return &outgoing{"<" + id + ">", from.Address, recipients, content.Bytes(), international || !isASCII(from.Address)}, nil
}

// setAddresses sets the headers with addresses. It returns the addresses of the
// envelope, and whether one of any field has letters beyond ASCII.
func setAddresses(message *gomail.Msg, args Args) (recipients []string, international bool, err error) {
	for _, field := range []struct {
		name      string
		addresses Addresses
		set       func(...*mail.Address)
	}{
		{"to", args.To, message.ToMailAddress},
		{"cc", args.Cc, message.CcMailAddress},
		{"bcc", args.Bcc, nil},
		{"reply_to", args.ReplyTo, message.ReplyToMailAddress},
	} {
		var parsed []*mail.Address
		for _, text := range field.addresses {
			one, err := parseAddress(field.name, text)
			if err != nil {
				return nil, false, err
			}
			parsed = append(parsed, one)
			international = international || !isASCII(one.Address)
			if field.name != "reply_to" && !slices.Contains(recipients, one.Address) {
				recipients = append(recipients, one.Address)
			}
		}
		if len(parsed) > 0 && field.set != nil {
			field.set(parsed...)
		}
	}
	return recipients, international, nil
}

// messageID returns the same id for every attempt. It contains the job's id, so that
// it can be found in a server's log, and a digest of id and args, since job ids are
// unique in one Redis only.
func (e *Sender) messageID(job *queue.Job, from *mail.Address) string {
	domain := from.Address[strings.LastIndexByte(from.Address, '@')+1:]
	if e.config.Domain != "" || !isHostName(domain) {
		domain = cmp.Or(e.config.Domain, e.config.Hello)
	}
	digest := sha256.New()
	fmt.Fprintf(digest, "%d:%s", len(job.ID), job.ID)
	digest.Write(job.Args)
	readable := strings.Map(func(r rune) rune {
		if r == ':' || r == '.' {
			return '-'
		}
		return r
	}, job.ID)
	return fmt.Sprintf("%s.%x@%s", readable, digest.Sum(nil)[:8], domain)
}

// An attachedFile is an attachment that was read.
type attachedFile struct {
	name, contentType string
	content           []byte
}

func (f attachedFile) attach(message *gomail.Msg) error {
	contentType := cmp.Or(f.contentType, mime.TypeByExtension(filepath.Ext(f.name)))
	if isComposite(contentType) {
		contentType = "application/octet-stream"
	}
	err := message.AttachReader(f.name, bytes.NewReader(f.content), gomail.WithFileContentType(gomail.ContentType(contentType)))
	if err != nil {
		return fmt.Errorf("attachment %s: %w", f.name, err)
	}
	return nil
}

// attachments reads all attachments, at most limit bytes together.
func (e *Sender) attachments(ctx context.Context, wanted []Attachment, limit int64) ([]attachedFile, error) {
	var files []attachedFile
	for _, attachment := range wanted {
		read := e.readFile
		if attachment.URL != "" {
			read = e.fetchFile
		}
		file, err := read(ctx, attachment, limit)
		if err != nil {
			return nil, err
		}
		if attachment.Name != "" {
			file.name = attachment.Name
		}
		if attachment.ContentType != "" {
			file.contentType = attachment.ContentType
		}
		limit -= int64(len(file.content))
		files = append(files, file)
	}
	return files, nil
}

func (e *Sender) fetchFile(ctx context.Context, attachment Attachment, limit int64) (attachedFile, error) {
	from, err := url.Parse(attachment.URL)
	if err != nil { // Check has refused it
		return attachedFile{}, workers.Dead(fields.Wrong("attachments", "one has a malformed URL: %s", fields.Reason(err)))
	}
	// Query and password may be secrets: errors do not contain them.
	shown := (&url.URL{Scheme: from.Scheme, Host: from.Host, Path: from.Path}).String()
	if e.config.Fetcher == nil {
		return attachedFile{}, fmt.Errorf("attachment %s: this worker is configured to read none by URL", shown)
	}
	content, contentType, err := e.config.Fetcher.Fetch(ctx, attachment.URL, limit)
	if err != nil {
		return attachedFile{}, fmt.Errorf("attachment %s: %w", shown, err)
	}
	name := "attachment"
	if base := path.Base(from.Path); base != "/" && base != "." {
		name = base
	}
	return attachedFile{name, partType(contentType), content}, nil
}

// partType returns a server's content type as a part of a message can have it, or ""
// if a part cannot have it. The part gets a name of its own.
func partType(contentType string) string {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil || isComposite(contentType) {
		return ""
	}
	delete(params, "name")
	return mime.FormatMediaType(kind, params)
}

// isComposite reports whether a content type is one of multipart or message. Parts of
// these types must not be encoded in base64 (RFC 2045, section 6.4).
func isComposite(contentType string) bool {
	kind, _, _ := mime.ParseMediaType(contentType) // "" if it is malformed
	return strings.HasPrefix(kind, "multipart/") || strings.HasPrefix(kind, "message/")
}

func (e *Sender) readFile(_ context.Context, attachment Attachment, limit int64) (attachedFile, error) {
	if len(e.config.Attachments) == 0 {
		return attachedFile{}, fmt.Errorf("attachment %s: this worker is configured with no folder of attachments", attachment.Path)
	}
	file, err := e.openAttachment(attachment.Path)
	if err != nil {
		return attachedFile{}, fileError("attachment", attachment.Path, err)
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return attachedFile{}, fmt.Errorf("attachment %s: %w", attachment.Path, err)
	}
	if int64(len(content)) > limit {
		return attachedFile{}, workers.Dead(fmt.Errorf("attachment %s: %w: at most %d bytes are allowed for text and attachments together",
			attachment.Path, ErrTooLarge, e.config.MaxSize))
	}
	return attachedFile{name: filepath.Base(attachment.Path), content: content}, nil
}

// openAttachment opens a file below one of the folders. Links that lead out of the
// folder are refused.
func (e *Sender) openAttachment(path string) (*os.File, error) {
	outside := true
	for _, folder := range e.config.Attachments {
		within := path
		if filepath.IsAbs(path) {
			var err error
			if within, err = filepath.Rel(folder, path); err != nil || !filepath.IsLocal(within) {
				continue
			}
		}
		outside = false
		file, err := openRegular(folder, within)
		if !errors.Is(err, fs.ErrNotExist) {
			return file, err
		}
	}
	if outside {
		return nil, fmt.Errorf("it lies outside of the folders of attachments, %q", e.config.Attachments)
	}
	return nil, fs.ErrNotExist
}

// openRegular opens a regular file. Opening a pipe or a device may block, and reading
// it may never end.
func openRegular(folder, name string) (*os.File, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	return root.Open(name)
}
