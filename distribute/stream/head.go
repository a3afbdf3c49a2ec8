package stream

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
)

// HeadSize is the number of bytes of its uncompressed content that identify a file.
const HeadSize = 64 << 10

// A Head is the start of a file's uncompressed content: at most HeadSize bytes,
// less if the file is shorter. Two files with the same head are one file, at
// different times of its life or compressed in another way.
type Head []byte

// digest is a prefix of SHA-256, long enough that no two files meet by chance.
type digest [12]byte

func digestOf(content []byte) digest {
	sum := sha256.Sum256(content)
	return digest(sum[:len(digest{})])
}

// ID is the name under which a file with this head is recorded when it is
// first seen.
func (h Head) ID() string {
	sum := digestOf(h)
	return hex.EncodeToString(sum[:])
}

// UnfinishedLine is the index key of files whose head holds no whole line yet.
const UnfinishedLine = "unfinished"

// IndexKey is what all later states of a file have in common with this one:
// the digest up to the end of its first line that is not a header ("#…"), or
// UnfinishedLine.
func (h Head) IndexKey() string {
	for start := 0; start < len(h); {
		end := bytes.IndexByte(h[start:], '\n')
		if end < 0 {
			break
		}
		end += start + 1
		if h[start] != '#' {
			sum := digestOf(h[:end])
			return hex.EncodeToString(sum[:])
		}
		start = end
	}
	if len(h) == HeadSize {
		return h.ID() // it can't change any more
	}
	return UnfinishedLine
}

// A Fingerprint is what is recorded of a head: its length, its digest, and short
// digests at some line ends, for comparing with a file that is shorter.
type Fingerprint struct {
	Length int // of the head, in bytes
	sum    digest
	marks  []mark
}

// A mark is a short digest of the first offset bytes.
type mark struct {
	offset int
	sum    uint32 // 24 bits
}

// The first denseMarks line ends have a mark. Later ones have one if the mark
// before is at least markDistance bytes away, so that the marks of short lines are
// spread over the whole head. This bounds what a Fingerprint takes up: 4 bytes a
// mark, some 2.6 KB for a full head of lines of 100 bytes, at most 6 KB.
const (
	denseMarks   = 512
	markDistance = 64
	maxMarks     = denseMarks + HeadSize/markDistance
)

// markOf is the short digest of a mark.
func markOf(sum []byte) uint32 { return uint32(sum[0])<<16 | uint32(sum[1])<<8 | uint32(sum[2]) }

// Fingerprint returns what is recorded of the head.
func (h Head) Fingerprint() Fingerprint {
	p := Fingerprint{Length: len(h), sum: digestOf(h)}
	hash, hashed := sha256.New(), 0
	var sum [sha256.Size]byte
	for last := 0; ; {
		end := bytes.IndexByte(h[hashed:], '\n')
		if end < 0 {
			break
		}
		end += hashed + 1
		hash.Write(h[hashed:end])
		hashed = end
		if len(p.marks) < denseMarks || end-last >= markDistance {
			p.marks = append(p.marks, mark{end, markOf(hash.Sum(sum[:0]))})
			last = end
		}
	}
	return p
}

// A Sketch has a few of the marks of a Fingerprint: those of the first, the second, the
// fourth line and so on.
type Sketch []mark

// Sketch returns a sketch of the head.
func (p Fingerprint) Sketch() Sketch {
	var s Sketch
	for line := 1; line <= min(len(p.marks), denseMarks); line *= 2 {
		s = append(s, p.marks[line-1])
	}
	return s
}

// Differs reports whether two sketches are of different files. It is false for different
// files whose first lines are equal. A file that has only grown does not differ from its
// earlier sketches.
func (s Sketch) Differs(other Sketch) bool {
	n := min(len(s), len(other))
	return !slices.Equal(s[:n], other[:n])
}

// Encode returns a Fingerprint as it is kept in the record of a file.
func (p Fingerprint) Encode() string {
	out := binary.AppendUvarint(nil, uint64(p.Length))
	out = append(out, p.sum[:]...)
	last := 0
	for _, m := range p.marks {
		out = binary.AppendUvarint(out, uint64(m.offset-last))
		out = append(out, byte(m.sum>>16), byte(m.sum>>8), byte(m.sum))
		last = m.offset
	}
	return string(out)
}

var errBadFingerprint = errors.New("the recorded head is malformed")

// DecodeFingerprint reads what Encode returned.
func DecodeFingerprint(text string) (Fingerprint, error) {
	in := []byte(text)
	length, n := binary.Uvarint(in)
	if n <= 0 || length > HeadSize || len(in) < n+len(digest{}) {
		return Fingerprint{}, errBadFingerprint
	}
	p := Fingerprint{Length: int(length)}
	in = in[n:]
	in = in[copy(p.sum[:], in):]
	for offset := 0; len(in) > 0; {
		step, n := binary.Uvarint(in)
		if n <= 0 || step == 0 || step > HeadSize || len(in) < n+3 || offset+int(step) > p.Length {
			return Fingerprint{}, errBadFingerprint
		}
		offset += int(step)
		p.marks = append(p.marks, mark{offset, markOf(in[n:])})
		in = in[n+3:]
	}
	return p, nil
}

// SameFile reports whether a file that was recorded with this Fingerprint can be the
// one that has head h now: shorter, equal or grown. Of a shorter one it compares
// whole lines only, and does not see a difference in the last 63 bytes of more than
// 512 lines.
func (p Fingerprint) SameFile(h Head) bool {
	if len(h) >= p.Length {
		return digestOf(h[:p.Length]) == p.sum
	}
	// h is shorter than what was recorded. It may be a copy from an earlier time,
	// perhaps cut off within a line: its whole lines are compared up to the last
	// mark. To take another file for this one would lose its lines, so without a
	// mark where one is expected, h is another file.
	whole := bytes.LastIndexByte(h, '\n') + 1
	i, exact := slices.BinarySearchFunc(p.marks, whole, func(m mark, offset int) int { return m.offset - offset })
	if !exact {
		i--
		if i < denseMarks-1 || whole-p.marks[i].offset >= markDistance {
			return false
		}
	}
	if i+1 < len(p.marks) && p.marks[i+1].offset <= len(h) {
		return false // h has no line end there
	}
	sum := sha256.Sum256(h[:p.marks[i].offset])
	return markOf(sum[:]) == p.marks[i].sum
}
