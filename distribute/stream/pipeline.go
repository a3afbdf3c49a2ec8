package stream

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"skidway/distribute/stream/inflate"
)

// Sizes of a pipeline. Chunks are large because to hand one over wakes another
// processor, which costs the producer some microseconds.
const (
	chunkSize = 512 << 10 // bytes
	chunks    = 4
)

// Pipeline runs produce in a goroutine of its own and writes what that writes to
// w, so that two processors share the work. While busy reports that the
// processors have work enough, produce's writes go straight to w instead: content
// is counted best where it was inflated, in the processor's own cache. Idle is called
// at its interval, and at no time together with w. When w or idle
// returns an error, stop is called so that produce ends early. Pipeline returns
// when produce has ended, with the error of w or idle, or else that of produce.
func Pipeline(w io.Writer, produce func(Sink) error, busy func() bool, stop func(), idle Idle) error {
	c := &chunker{w: w, busy: busy, full: make(chan chunk, chunks), free: make(chan []byte, chunks), stopped: make(chan struct{})}
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
	consume := func(do func() error) {
		if written != nil {
			return
		}
		if written = do(); written != nil {
			close(c.stopped)
			stop()
		}
	}
	ticks, end := idle.ticks()
	defer end()
	for more := true; more; {
		var next chunk
		select {
		case <-ticks:
			consume(func() error {
				c.direct.Lock()
				defer c.direct.Unlock()
				return idle.Do()
			})
		case next, more = <-c.full:
			if more {
				consume(func() error { _, err := w.Write(next.content); return err })
				next.end()
				c.queued.Add(-1)
			}
		}
	}
	producing.Wait()
	if written != nil {
		return written
	}
	return produced
}

// A Sink is what the producer of a Pipeline writes to. What is lent to it need not be copied.
// Flush passes on what was written: a producer that may wait for long calls it before.
type Sink interface {
	inflate.Borrower
	Flush()
}

// Idle is what is to be done at an interval, also while nothing is written. The zero value
// does nothing.
type Idle struct {
	Interval time.Duration
	Do       func() error
}

// ticks returns a channel that receives at the interval until end is called.
func (i Idle) ticks() (ticks <-chan time.Time, end func()) {
	if i.Do == nil {
		return nil, func() {}
	}
	ticker := time.NewTicker(max(i.Interval, time.Millisecond))
	return ticker.C, ticker.Stop
}

// A chunk is content for the other goroutine.
type chunk struct {
	content []byte
	lent    bool
	release func() // nil: more of the same memory is lent later
}

func (c chunk) end() {
	if c.release != nil {
		c.release()
	}
}

// add adds lent content that lies behind it in memory, and reports whether it does.
func (c *chunk) add(next chunk) bool {
	n := len(c.content)
	if !c.lent || cap(c.content) == n || &c.content[:n+1][n] != &next.content[0] {
		return false
	}
	c.content, c.release = c.content[:n+len(next.content)], next.release
	return true
}

// A chunker hands over chunks: what is lent to it as it is, and copies of what is written to it.
// There are no more copies than places in the channel of free ones, so to return one does not block.
type chunker struct {
	w       io.Writer
	busy    func() bool
	full    chan chunk
	free    chan []byte  // for copies
	queued  atomic.Int32 // chunks handed over and not written to w yet
	chunk   chunk        // being filled
	direct  sync.Mutex   // held while the producer writes straight to w, and by Idle
	stopped chan struct{}
}

var errStopped = errors.New("pipeline stopped")

func (c *chunker) Write(block []byte) (int, error) {
	if c.isDirect() {
		return c.writeDirect(block)
	}
	written := 0
	for len(block) > 0 {
		if err := c.take(); err != nil {
			return written, err
		}
		n := min(len(block), cap(c.chunk.content)-len(c.chunk.content))
		c.chunk.content = append(c.chunk.content, block[:n]...)
		written, block = written+n, block[n:]
		if len(c.chunk.content) == cap(c.chunk.content) {
			c.handOver()
		}
	}
	return written, nil
}

// Lend implements [inflate.Borrower].
func (c *chunker) Lend(block []byte, release func()) error {
	lent := chunk{block, true, release}
	if c.isDirect() {
		defer lent.end()
		_, err := c.writeDirect(block)
		return err
	}
	select {
	case <-c.stopped:
		lent.end()
		return errStopped
	default:
	}
	if !c.chunk.add(lent) {
		c.handOver()
		c.chunk = lent
	}
	if release != nil {
		c.handOver()
	}
	return nil
}

// isDirect reports whether the producer writes straight to w: the processors are busy,
// everything before is written, and no other goroutine writes.
func (c *chunker) isDirect() bool {
	if !c.busy() {
		return false
	}
	c.handOver()
	return c.queued.Load() == 0
}

func (c *chunker) writeDirect(block []byte) (int, error) {
	c.direct.Lock()
	defer c.direct.Unlock()
	select {
	case <-c.stopped:
		return 0, errStopped
	default:
		return c.w.Write(block)
	}
}

// Flush implements [Sink].
func (c *chunker) Flush() { c.handOver() }

// take makes sure that there is a copy to fill.
func (c *chunker) take() error {
	if c.chunk.lent {
		c.handOver()
	}
	if c.chunk.content != nil {
		return nil
	}
	var buffer []byte
	select {
	case buffer = <-c.free:
	case <-c.stopped:
		return errStopped
	}
	if buffer == nil {
		buffer = make([]byte, 0, chunkSize)
	}
	c.chunk = chunk{content: buffer, release: func() { c.free <- buffer }}
	return nil
}

// handOver sends the chunk, if it is not empty, to the other goroutine.
func (c *chunker) handOver() {
	if len(c.chunk.content) > 0 {
		c.queued.Add(1)
		c.full <- c.chunk
		c.chunk = chunk{}
	}
}

// fetchBuffers is the number of buffers of a Prefetcher: one is read from, one
// waits, one is fetched into; and one is read where another one is lent.
const fetchBuffers = 4

// FetchSize bounds the bytes that a fetch returns.
const FetchSize = 1 << 20

// A Fetch returns the content after position, at most FetchSize bytes, in buffer,
// which has room for two bytes more. It blocks until there is something. Its
// error, io.EOF at the regular end, is final.
type Fetch func(ctx context.Context, position int64, buffer []byte) ([]byte, error)

// A Prefetcher reads what a Fetch returns. A goroutine fetches ahead.
type Prefetcher struct {
	cancel  context.CancelFunc
	fetched chan fetched
	free    chan []byte // buffers to fetch into: fresh ones would cost more than the fetching
	current fetched
	rest    []byte // of the current data
	waits   func() // called before Read or WriteTo waits for the next data; nil: nothing is
}

type fetched struct {
	buffer []byte
	data   []byte // in the buffer
	err    error
}

// Prefetch starts to fetch, from a position on. The caller closes the result.
func Prefetch(ctx context.Context, position int64, fetch Fetch) *Prefetcher {
	ctx, cancel := context.WithCancel(ctx)
	p := &Prefetcher{cancel: cancel, fetched: make(chan fetched, 1), free: make(chan []byte, fetchBuffers)}
	for range fetchBuffers {
		p.free <- nil // made when it is needed: most files are small
	}
	go p.run(ctx, position, fetch)
	return p
}

// BeforeWait sets a function that Read and WriteTo call before they wait. It must be called
// before them.
func (p *Prefetcher) BeforeWait(f func()) { p.waits = f }

// Cancel ends the fetching.
func (p *Prefetcher) Cancel() { p.cancel() }

// Close ends the goroutine and waits for it.
func (p *Prefetcher) Close() {
	p.cancel()
	for range p.fetched {
	}
}

func (p *Prefetcher) Read(to []byte) (int, error) {
	for len(p.rest) == 0 {
		if p.current.err != nil {
			return 0, p.current.err
		}
		p.next()
	}
	n := copy(to, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// WriteTo writes all that follows to w, as it comes. If w is an [inflate.Borrower], it is lent to w.
func (p *Prefetcher) WriteTo(w io.Writer) (sum int64, err error) {
	borrower, lends := w.(inflate.Borrower)
	for {
		n := len(p.rest)
		switch {
		case lends && n > 0:
			buffer := p.current.buffer
			p.current.buffer = nil
			err = borrower.Lend(p.rest, func() { p.free <- buffer })
		default:
			n, err = w.Write(p.rest)
		}
		sum, p.rest = sum+int64(n), nil
		if err == nil {
			err = p.current.err
		}
		if err == io.EOF {
			return sum, nil
		}
		if err != nil {
			return sum, err
		}
		p.next()
	}
}

// next takes what was fetched next, and returns the buffer of what was read.
func (p *Prefetcher) next() {
	if p.current.buffer != nil {
		p.free <- p.current.buffer
	}
	if p.waits != nil && len(p.fetched) == 0 {
		p.waits()
	}
	next, ok := <-p.fetched
	if !ok {
		next.err = context.Canceled
	}
	p.current, p.rest = next, next.data
}

func (p *Prefetcher) run(ctx context.Context, position int64, fetch Fetch) {
	defer close(p.fetched)
	for {
		var next fetched
		select {
		case next.buffer = <-p.free:
		case <-ctx.Done():
			return
		}
		if next.buffer == nil {
			next.buffer = make([]byte, FetchSize+2)
		}
		next.data, next.err = fetch(ctx, position, next.buffer)
		position += int64(len(next.data))
		select {
		case p.fetched <- next:
		case <-ctx.Done():
			return
		}
		if next.err != nil {
			return
		}
	}
}
