package distribute

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
)

// Sizes of a pipeline. Chunks are large because to hand one over wakes another
// processor, which costs the producer some microseconds.
const (
	chunkSize = 512 << 10 // bytes
	chunks    = 4
)

// pipeline runs produce in a goroutine of its own and writes what that writes to
// w, so that two processors share the work. While busy says that the processors
// have work enough, produce's writes go straight to w instead: content is counted
// best where it was inflated, in the processor's own cache. When w gives an error,
// stop is called so that produce ends early. It returns when produce has ended,
// with the error of w or else that of produce.
func pipeline(w io.Writer, produce func(io.Writer) error, busy func() bool, stop func()) error {
	c := &chunker{w: w, busy: busy, full: make(chan []byte, chunks), free: make(chan []byte, chunks), stopped: make(chan struct{})}
	for range chunks {
		c.free <- nil // made when it is needed
	}
	var producing sync.WaitGroup
	var produced, written error
	producing.Go(func() {
		defer close(c.full)
		produced = produce(c)
		c.handOver()
	})
	for chunk := range c.full {
		if written == nil {
			if _, written = w.Write(chunk); written != nil {
				close(c.stopped)
				stop()
			}
		}
		c.free <- chunk[:0]
		c.queued.Add(-1)
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
	w          io.Writer
	busy       func() bool
	full, free chan []byte
	queued     atomic.Int32 // chunks handed over and not written to w yet
	chunk      []byte       // being filled
	stopped    chan struct{}
}

var errStopped = errors.New("nobody wants more")

func (c *chunker) Write(block []byte) (int, error) {
	if c.busy() {
		c.handOver()
		if c.queued.Load() == 0 { // all before is written, and nobody else writes
			return c.w.Write(block)
		}
	}
	written := 0
	for len(block) > 0 {
		if err := c.take(); err != nil {
			return written, err
		}
		n := min(len(block), cap(c.chunk)-len(c.chunk))
		c.chunk = append(c.chunk, block[:n]...)
		written, block = written+n, block[n:]
		if len(c.chunk) == cap(c.chunk) {
			c.handOver()
		}
	}
	return written, nil
}

// take makes sure that there is a chunk to fill.
func (c *chunker) take() error {
	if c.chunk != nil {
		return nil
	}
	select {
	case c.chunk = <-c.free:
	case <-c.stopped:
		return errStopped
	}
	if c.chunk == nil {
		c.chunk = make([]byte, 0, chunkSize)
	}
	return nil
}

// handOver gives the chunk, if anything is in it, to the other goroutine.
func (c *chunker) handOver() {
	if len(c.chunk) > 0 {
		c.queued.Add(1)
		c.full <- c.chunk
		c.chunk = nil
	}
}
