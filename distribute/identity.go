package distribute

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
)

// HeadSize is how much of a file's uncompressed content tells which file it
// is, in bytes.
const HeadSize = 64 << 10

// A head is the start of a file's uncompressed content: at most HeadSize bytes,
// less if the file is shorter. Two files with the same head are one file, at
// different times of its life or compressed in another way.
type head []byte

// digest is a prefix of SHA-256, long enough that no two files meet by chance.
type digest [12]byte

func digestOf(content []byte) digest {
	sum := sha256.Sum256(content)
	return digest(sum[:len(digest{})])
}

// id is the name under which a file with this head is recorded when it is
// first seen.
func (h head) id() string {
	sum := digestOf(h)
	return hex.EncodeToString(sum[:])
}

// unfinishedLine is the index key of files whose head holds no whole line yet.
const unfinishedLine = "unfinished"

// indexKey is what all later states of a file have in common with this one:
// the digest up to the end of its first line that is not a header ("#…"), or
// unfinishedLine.
func (h head) indexKey() string {
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
		return h.id() // it can't change any more
	}
	return unfinishedLine
}

// A fingerprint is what is recorded of a head: its length, its digest, and short
// digests at some line ends, for comparing with a file that is shorter.
type fingerprint struct {
	length int
	sum    digest
	marks  []mark
}

// A mark is a short digest of the first offset bytes.
type mark struct {
	offset int
	sum    uint32
}

// Marks lie at every line end at first and farther apart later, so that a
// fingerprint stays small (some 350 bytes for a full head) and the last mark within
// a shorter file is never far from its end.
const (
	denseMarks = 16
	markGrowth = 8 // the next mark is 1/8 farther
)

func (h head) fingerprint() fingerprint {
	p := fingerprint{length: len(h), sum: digestOf(h)}
	hash, hashed := sha256.New(), 0
	var sum [sha256.Size]byte
	for next := 0; hashed < len(h); {
		end := bytes.IndexByte(h[hashed:], '\n')
		if end < 0 {
			break
		}
		end += hashed + 1
		hash.Write(h[hashed:end])
		hashed = end
		if len(p.marks) < denseMarks || end >= next {
			p.marks = append(p.marks, mark{end, binary.BigEndian.Uint32(hash.Sum(sum[:0]))})
			next = end + end/markGrowth
		}
	}
	return p
}

// encode writes a fingerprint as it is kept in the file's record.
func (p fingerprint) encode() string {
	out := binary.AppendUvarint(nil, uint64(p.length))
	out = append(out, p.sum[:]...)
	last := 0
	for _, m := range p.marks {
		out = binary.AppendUvarint(out, uint64(m.offset-last))
		out = binary.BigEndian.AppendUint32(out, m.sum)
		last = m.offset
	}
	return string(out)
}

var errBadFingerprint = errors.New("the recorded head is malformed")

func decodeFingerprint(text string) (fingerprint, error) {
	in := []byte(text)
	length, n := binary.Uvarint(in)
	if n <= 0 || length > HeadSize || len(in) < n+len(digest{}) {
		return fingerprint{}, errBadFingerprint
	}
	p := fingerprint{length: int(length)}
	in = in[n:]
	in = in[copy(p.sum[:], in):]
	for offset := 0; len(in) > 0; {
		step, n := binary.Uvarint(in)
		if n <= 0 || step == 0 || step > HeadSize || len(in) < n+4 || offset+int(step) > p.length {
			return fingerprint{}, errBadFingerprint
		}
		offset += int(step)
		p.marks = append(p.marks, mark{offset, binary.BigEndian.Uint32(in[n:])})
		in = in[n+4:]
	}
	return p, nil
}

// sameFile reports whether a file that was recorded with this fingerprint can be the
// one that has head h now: shorter, equal or grown.
func (p fingerprint) sameFile(h head) bool {
	if len(h) >= p.length {
		return digestOf(h[:p.length]) == p.sum
	}
	// h is shorter than what was recorded: compare up to the last mark in it.
	for i := len(p.marks) - 1; i >= 0; i-- {
		if m := p.marks[i]; m.offset <= len(h) {
			sum := sha256.Sum256(h[:m.offset])
			return binary.BigEndian.Uint32(sum[:]) == m.sum
		}
	}
	return false
}
