package kinds

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	gomail "github.com/wneessen/go-mail"

	"skidway/workers"
)

// An emailFile is an attachment that was read.
type emailFile struct {
	name, contentType string
	content           []byte
}

func (f emailFile) attach(message *gomail.Msg) error {
	err := message.AttachReader(f.name, bytes.NewReader(f.content), gomail.WithFileContentType(gomail.ContentType(f.contentType)))
	if err != nil {
		return fmt.Errorf("attachment %s: %w", f.name, err)
	}
	return nil
}

// attachments reads all of them, at most limit bytes together.
func (e *Email) attachments(ctx context.Context, wanted []Attachment, limit int64) ([]emailFile, error) {
	var files []emailFile
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

func (e *Email) fetchFile(ctx context.Context, attachment Attachment, limit int64) (emailFile, error) {
	from, err := url.Parse(attachment.URL)
	if err != nil { // Check has refused it
		return emailFile{}, workers.Dead(wrong("attachments", "one has no URL: %s", reason(err)))
	}
	// Query and password may be what lets one in: they are no part of errors.
	shown := (&url.URL{Scheme: from.Scheme, Host: from.Host, Path: from.Path}).String()
	if e.config.Fetcher == nil {
		return emailFile{}, fmt.Errorf("attachment %s: this worker is configured to read none by URL", shown)
	}
	content, contentType, err := e.config.Fetcher.Fetch(ctx, attachment.URL, limit)
	if err != nil {
		return emailFile{}, fmt.Errorf("attachment %s: %w", shown, err)
	}
	name := "attachment"
	if base := path.Base(from.Path); base != "/" && base != "." {
		name = base
	}
	return emailFile{name, partType(contentType), content}, nil
}

// partType gives what a server says in the form that a part of a message can
// have, which gets a name of its own; empty: nothing that makes sense there.
func partType(said string) string {
	kind, params, err := mime.ParseMediaType(said)
	if err != nil || strings.HasPrefix(kind, "multipart/") || strings.HasPrefix(kind, "message/") {
		return "" // RFC 2045, section 6.4: these can't be in base64
	}
	delete(params, "name")
	return mime.FormatMediaType(kind, params)
}

func (e *Email) readFile(_ context.Context, attachment Attachment, limit int64) (emailFile, error) {
	if len(e.config.Attachments) == 0 {
		return emailFile{}, fmt.Errorf("attachment %s: this worker is configured with no folder of attachments", attachment.Path)
	}
	file, err := e.openAttachment(attachment.Path)
	if err != nil {
		return emailFile{}, fileError("attachment", attachment.Path, err)
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return emailFile{}, fmt.Errorf("attachment %s: %w", attachment.Path, err)
	}
	if int64(len(content)) > limit {
		return emailFile{}, workers.Dead(fmt.Errorf("attachment %s: %w: at most %d bytes are allowed for text and attachments together",
			attachment.Path, ErrEmailTooLarge, e.config.MaxSize))
	}
	return emailFile{name: filepath.Base(attachment.Path), content: content}, nil
}

// openAttachment looks in one folder after another. Links don't lead out of one.
func (e *Email) openAttachment(path string) (*os.File, error) {
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

// openRegular refuses pipes and devices, of which some block when they are
// opened and others have no end.
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
		return nil, errors.New("it is no regular file")
	}
	return root.Open(name)
}
