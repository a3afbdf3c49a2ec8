package distribute

import (
	"errors"
	"io"
	"sync"
)

// Sizes of a pipeline.
const (
	chunkSize = 128 << 10 // bytes
	chunks    = 6
)

// pipeline runs produce in a goroutine of its own and writes what that writes to
// w, in chunks. When w gives an error, stop is called so that produce ends early.
// It returns when produce has ended, with the error of w or else that of produce.
func pipeline(w io.Writer, produce func(io.Writer) error, stop func()) error {
	c := &chunker{full: make(chan []byte, chunks), free: make(chan []byte, chunks), stopped: make(chan struct{})}
	for range chunks {
		c.free <- make([]byte, 0, chunkSize)
	}
	var producing sync.WaitGroup
	var produced, written error
	producing.Go(func() {
		defer close(c.full)
		produced = produce(c)
		if len(c.chunk) > 0 {
			c.full <- c.chunk
		}
	})
	for chunk := range c.full {
		if written == nil {
			if _, written = w.Write(chunk); written != nil {
				close(c.stopped)
				stop()
			}
		}
		c.free <- chunk[:0]
	}
	producing.Wait()
	if written != nil {
		return written
	}
	return produced
}

// A chunker copies what is written to it into chunks. There are no more chunks
// than places in either channel, so only taking one blocks.
type chunker struct {
	full, free chan []byte
	chunk      []byte
	stopped    chan struct{}
}

var errStopped = errors.New("nobody wants more")

func (c *chunker) Write(block []byte) (int, error) {
	written := 0
	for len(block) > 0 {
		if c.chunk == nil {
			select {
			case c.chunk = <-c.free:
			case <-c.stopped:
				return written, errStopped
			}
		}
		n := min(len(block), cap(c.chunk)-len(c.chunk))
		c.chunk = append(c.chunk, block[:n]...)
		written, block = written+n, block[n:]
		if len(c.chunk) == cap(c.chunk) {
			c.full <- c.chunk
			c.chunk = nil
		}
	}
	return written, nil
}
