package s3

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"

	"skidway/distribute/stream"
)

// startSize is the number of bytes at the start of an object that are kept: the head of a
// file is read more than once.
const startSize = 128 << 10

// Reading goes on behind a broken connection after a pause that doubles, and also where the service
// refuses a request for a while (SlowDown) more often than the library sends it again.
const (
	maxReads   = 6
	firstPause = 200 * time.Millisecond
)

// An object is a stream.Object. It keeps one answer open, from which it reads on as long as
// the places that are read follow each other.
type object struct {
	ctx         context.Context // of its reads
	client      *Client
	bucket, key string
	etag        string
	size        int64
	modified    time.Time
	pause       func(context.Context, time.Duration) error

	mu    sync.Mutex // guards what follows
	start []byte     // the first bytes; nil until they are read
	body  io.ReadCloser
	at    int64 // of the next byte of the body
}

// Open opens the object with a URL. Its reads end when ctx is done. The error does not name
// the URL.
func (c *Client) Open(ctx context.Context, text string) (stream.Object, error) {
	bucket, key, err := split(text)
	if err != nil {
		return nil, err
	}
	info, err := c.api.StatObject(ctx, bucket, key, minio.StatObjectOptions{})
	if err != nil {
		return nil, explain(err)
	}
	return &object{
		ctx: ctx, client: c, bucket: bucket, key: key, etag: info.ETag, size: info.Size, modified: info.LastModified, pause: pause,
	}, nil
}

// Stat returns what the object had when it was opened: no read returns bytes of another one.
func (o *object) Stat() (size int64, modified time.Time, err error) { return o.size, o.modified, nil }

// Close ends the reading.
func (o *object) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closeBody()
	return nil
}

func (o *object) closeBody() {
	if o.body != nil {
		_ = o.body.Close()
		o.body = nil
	}
}

// ReadAt implements [io.ReaderAt].
func (o *object) ReadAt(p []byte, offset int64) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if offset >= o.size {
		return 0, io.EOF
	}
	if o.start == nil && offset < startSize {
		start := make([]byte, min(startSize, o.size))
		if _, err := o.readFull(start, 0); err != nil {
			return 0, err
		}
		o.start = start
	}
	n := 0
	if offset < int64(len(o.start)) {
		n = copy(p, o.start[offset:])
	}
	rest := p[n:min(int64(len(p)), o.size-offset)]
	m, err := o.readFull(rest, offset+int64(n))
	if n += m; err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

// readFull reads bytes from a place on, again after an error that may pass.
func (o *object) readFull(p []byte, offset int64) (n int, err error) {
	wait := firstPause
	for tries := 1; n < len(p); tries++ {
		var m int
		m, err = o.readOn(p[n:], offset+int64(n))
		if n += m; m > 0 {
			tries, wait = 1, firstPause
		}
		if err == nil {
			continue
		}
		o.closeBody()
		if tries >= maxReads || isFinal(err) {
			return n, err
		}
		if err := o.pause(o.ctx, wait); err != nil {
			return n, err
		}
		wait *= 2
	}
	return n, nil
}

// isFinal reports whether an error will not pass.
func isFinal(err error) bool {
	var changed *stream.ChangedError
	status := minio.ToErrorResponse(err).StatusCode
	later := status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
	return errors.As(err, &changed) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || status/100 == 4 && !later
}

// readOn reads bytes of the answer that is open, or of a new one from the place on.
func (o *object) readOn(p []byte, offset int64) (int, error) {
	if o.body == nil || o.at != offset {
		o.closeBody()
		var options minio.GetObjectOptions
		if err := errors.Join(options.SetMatchETag(o.etag), options.SetRange(offset, o.size-1)); err != nil {
			return 0, err
		}
		body, info, _, err := o.client.api.GetObject(o.ctx, o.bucket, o.key, options)
		if err != nil {
			return 0, explain(err)
		}
		o.body, o.at = body, offset
		if info.ETag != o.etag { // some services ignore If-Match
			return 0, &stream.ChangedError{Change: "the object was replaced"}
		}
	}
	n, err := o.body.Read(p)
	o.at += int64(n)
	if err == io.EOF {
		o.closeBody()
		if err = nil; n == 0 {
			err = io.ErrUnexpectedEOF
		}
	}
	return n, err
}

func pause(ctx context.Context, wait time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(wait):
		return nil
	}
}
