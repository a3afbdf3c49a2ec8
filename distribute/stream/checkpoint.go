package stream

import (
	"encoding/binary"
	"errors"
	"slices"
	"sync"

	"skidway/distribute/stream/inflate"
)

// A Checkpoint is a place in compressed data from which its content can be read on
// without what comes before: of gzip between two blocks, of zstd between two frames, of
// plain data anywhere. The zero Checkpoint is the start of the data.
type Checkpoint struct {
	Raw     int64 // bytes of the data before it
	Content int64 // bytes of the content before it

	gzip *inflate.Checkpoint // of gzip data, unless it is the start
}

// CheckpointInterval is the number of bytes of content between two checkpoints; there are
// fewer if blocks or frames are longer, and more if segments are small.
const CheckpointInterval = 1 << 20

// checkpointInterval returns the interval for data in segments of a size: several
// checkpoints lie in a segment.
func checkpointInterval(segment int64) int64 { return min(CheckpointInterval, segment/2) }

// ErrCheckpoint is the error for an encoded checkpoint that is malformed, or that another
// version has encoded.
var ErrCheckpoint = errors.New("the checkpoint is malformed")

// Encode returns the checkpoint as text for ParseCheckpoint, at most 33 KB.
func (c Checkpoint) Encode() []byte {
	if c.gzip != nil {
		return c.gzip.Encode()
	}
	return binary.AppendUvarint(binary.AppendUvarint(nil, uint64(c.Raw)), uint64(c.Content))
}

// ParseCheckpoint returns the checkpoint, other than the start, that Encode has encoded for
// data of a codec.
func ParseCheckpoint(codec Codec, encoded []byte) (Checkpoint, error) {
	if codec == Gzip {
		c, err := inflate.ParseCheckpoint(encoded)
		if err != nil {
			return Checkpoint{}, ErrCheckpoint
		}
		return gzipCheckpoint(c), nil
	}
	raw, n := binary.Uvarint(encoded)
	if n <= 0 || raw > 1<<62 {
		return Checkpoint{}, ErrCheckpoint
	}
	content, m := binary.Uvarint(encoded[n:])
	if m <= 0 || content > 1<<62 || n+m != len(encoded) {
		return Checkpoint{}, ErrCheckpoint
	}
	return Checkpoint{Raw: int64(raw), Content: int64(content)}, nil
}

func gzipCheckpoint(c *inflate.Checkpoint) Checkpoint {
	return Checkpoint{Raw: c.Offset, Content: c.Content, gzip: c}
}

// Checkpoints holds the checkpoints of data whose content one goroutine decompresses and
// another one counts. If the content is counted several times, each count has its own.
type Checkpoints struct {
	codec    Codec
	interval int64 // bytes of content between two of them
	mu       sync.Mutex
	saved    []Checkpoint // in order
}

// NewCheckpoints returns a place for the checkpoints of data of a codec that is read from a
// checkpoint on, out of segments of a size.
func NewCheckpoints(codec Codec, segment int64, from Checkpoint) *Checkpoints {
	c := &Checkpoints{codec: codec, interval: checkpointInterval(segment)}
	c.Restart(from)
	return c
}

// Restart drops all checkpoints but the one from which the data is read again.
func (c *Checkpoints) Restart(from Checkpoint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.saved)
	c.saved = c.saved[:0]
	if from.Raw > 0 {
		c.saved = append(c.saved, from)
	}
}

// maxCheckpoints bounds the checkpoints of content that is not counted yet, because it has
// no newline: each has up to 33 KB.
const maxCheckpoints = 64

// Save adds the next checkpoint, unless it is at or before the last one: the data may be
// read from an earlier place than the one where the count goes on. If there are too many,
// it drops every second one.
func (c *Checkpoints) Save(next Checkpoint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.saved); n > 0 && next.Content <= c.saved[n-1].Content {
		return
	}
	c.saved = append(c.saved, next)
	if len(c.saved) <= maxCheckpoints {
		return
	}
	for i := range len(c.saved)/2 + 1 { // the first and the last one stay
		c.saved[i] = c.saved[2*i]
	}
	clear(c.saved[len(c.saved)/2+1:])
	c.saved = c.saved[:len(c.saved)/2+1]
}

// Before returns the last checkpoint with at most content bytes of content before it, the
// zero Checkpoint if there is none. It drops the earlier ones. Plain data has a checkpoint
// anywhere.
func (c *Checkpoints) Before(content int64) Checkpoint {
	if c.codec == Plain {
		return Checkpoint{Raw: content, Content: content}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	last := -1
	for i, saved := range c.saved {
		if saved.Content > content {
			break
		}
		last = i
	}
	if last < 0 {
		return Checkpoint{}
	}
	c.saved = slices.Delete(c.saved, 0, last)
	return c.saved[0]
}
