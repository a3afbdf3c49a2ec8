package inflate

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"runtime"
	"sync"
)

// Sizes of members that are inflated in parallel.
const (
	aheadSize  = 1 << 20   // bytes of the file that are looked through for members
	groupSize  = freshSize // bytes of content that a goroutine inflates at once, unless a member has more
	memberSize = 1 << 20   // bytes of content of a member, at most

	// pause is the number of members that are read one after the other before the next try
	// when the members are too long, or what looked like the start of one was none.
	pause = 16
)

// SetIdle makes WriteTo inflate several members of the file at the same time, in goroutines that
// end before it does, whenever idle, which it calls, reports that a processor has nothing else to
// do; nil means never. The content is the same, and its order. Members that are not wholly read ahead, and those
// with more than 1 MiB of content, are inflated one after the other. It needs 2 MiB of memory, and
// some 1.5 MiB for each processor. It must be called before WriteTo.
func (r *Reader) SetIdle(idle func() bool) { r.idle = idle }

// A group is several members, one behind the other, that a goroutine inflates.
type group struct {
	packed []byte
	pieces []piece // of the content
	size   int     // of all pieces
	whole  bool    // the pieces are all that packed has, and nothing lies behind the last member
	done   sync.WaitGroup
}

// A piece is content in a window that is lent.
type piece struct {
	content []byte
	release func() // as of Borrower.Lend
}

// groupReaders are Readers with windows that no Borrower bounds: writeMembers does.
var groupReaders = sync.Pool{New: func() any {
	d := newDecoder(nil)
	d.lending = newLending(math.MaxInt)
	return &Reader{decoder: d}
}}

// writeMembers writes the content of the members that the source has ready, in parallel, up to
// the last one, of which the end is unknown. The next byte is the first one of a header, before
// and after it.
func (r *Reader) writeMembers(w io.Writer) (sum int64, err error) {

	packed := r.readAhead()
	groups := groupMembers(packed)
	if len(groups) == 0 && nextMember(packed) > 0 { // the member is too long
		r.serial = pause
	}
	running := 0
	defer func() {
		for _, g := range groups[:running] {
			g.done.Wait()
			for _, p := range g.pieces {
				p.end()
			}
		}
	}()
	for len(groups) > 0 {
		for ; running < min(len(groups), runtime.GOMAXPROCS(0)); running++ {
			groups[running].start()
		}
		next := groups[0]
		next.done.Wait()
		if !next.whole {
			r.serial = pause
			return sum, nil
		}
		groups, running = groups[1:], running-1
		r.skip(len(next.packed))
		r.offset += int64(next.size)
		n, err := r.writeGroup(w, next)
		if sum += n; err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// readAhead returns bytes of the file, from the next one on. It reads none: what is there is not
// kept waiting for more. The member that is inflated alone after the others reads up to aheadSize bytes.
func (r *Reader) readAhead() []byte {
	d := r.decoder
	if r.ahead == nil {
		r.ahead = bufio.NewReaderSize(d.source, aheadSize)
		d.source = r.ahead
	}
	buffered, _ := r.ahead.Peek(r.ahead.Buffered()) // no error: they are there
	r.joined = append(append(r.joined[:0], d.in[d.pos:]...), buffered...)
	return r.joined
}

// skip goes on behind n bytes that readAhead has returned.
func (r *Reader) skip(n int) {
	d := r.decoder
	inside := min(n, len(d.in)-d.pos)
	d.pos += inside
	if n > inside {
		d.before += int64(n - inside)
		_, _ = r.ahead.Discard(n - inside) // no error: they are buffered
	}
}

// groupMembers returns the members that packed begins with, in groups, as far as their ends are
// known and they are not too long. Data may look like the start of a member and be none.
func groupMembers(packed []byte) (groups []*group) {
	size := 0 // of the last group's content
	for {
		n := nextMember(packed)
		if n < minMember {
			return groups
		}
		content := int64(binary.LittleEndian.Uint32(packed[n-4:])) // of the trailer
		if content > memberSize {
			return groups
		}
		if len(groups) == 0 || size+int(content) > groupSize {
			groups, size = append(groups, &group{packed: packed[:0]}), 0
		}
		last := groups[len(groups)-1]
		last.packed = last.packed[:len(last.packed)+n]
		size, packed = size+int(content), packed[n:]
	}
}

// minMember is the length of a member without content: header, an empty block, trailer.
const minMember = 10 + 2 + 8

// nextMember returns the offset of what looks like the header of the second member; 0 if there is
// none. Other data looks like one with a probability of 1 in 10 billion at each byte: a header has
// three given bytes, five flags of eight, and extra flags with one of the values that compressors write.
func nextMember(packed []byte) int {
	for at := 1; ; at++ {
		n := bytes.Index(packed[min(at, len(packed)):], []byte{0x1f, 0x8b, 8})
		if at += n; n < 0 || len(packed)-at < minMember {
			return 0
		}
		if flags, extra := packed[at+3], packed[at+8]; flags&flagReserved == 0 && (extra == 0 || extra == 2 || extra == 4) {
			return at
		}
	}
}

// start inflates the group in a goroutine. It begins in a window of its own, which is released
// with its last piece: groups may be inflated in another order than they are written.
func (g *group) start() {
	g.done.Go(func() {
		r := groupReaders.Get().(*Reader)
		defer groupReaders.Put(r)
		r.reset(bytes.NewReader(g.packed))
		for r.err == nil && g.size <= memberSize { // a trailer may lie
			if r.next(); len(r.content) > 0 {
				g.size += len(r.content)
				g.pieces = append(g.pieces, r.piece())
			}
		}
		g.whole = r.err == io.EOF && !r.padded
		release := r.decoder.releaser()
		switch last := len(g.pieces) - 1; {
		case r.decoder.isFull(): // the last piece releases it
		case last >= 0 && g.pieces[last].release == nil:
			g.pieces[last].release = release
		default: // nothing of it is in a piece
			release()
		}
	})
}

// reset makes the reader read another file, into another window, without checkpoints and SetIdle.
func (r *Reader) reset(source io.Reader) {
	d := r.decoder
	d.source, d.sourceErr, d.in, d.pos, d.before, d.bits, d.nbits = source, nil, nil, 0, 0, 0, 0
	d.window, d.start, d.end = d.lending.take(), 0, 0
	*r = Reader{decoder: d, between: true}
}

// writeGroup writes the content of a group, or lends it. After an error of a writer the rest is
// in r.content.
func (r *Reader) writeGroup(w io.Writer, g *group) (sum int64, err error) {
	borrower, lends := w.(Borrower)
	for _, p := range g.pieces {
		if lends && err == nil {
			sum, err = sum+int64(len(p.content)), borrower.Lend(p.content, p.release)
			continue
		}
		n := 0
		if err == nil {
			n, err = w.Write(p.content)
			sum += int64(n)
		}
		r.content = append(r.content, p.content[n:]...)
		p.end()
	}
	return sum, err
}

func (p piece) end() {
	if p.release != nil {
		p.release()
	}
}
