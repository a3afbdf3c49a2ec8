package stream

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/ulikunitz/xz"
)

// newXZReader reads xz data. Its decompressor allocates the dictionary of each block as large
// as the block's header has it.
func newXZReader(source io.Reader, window *windowLease) (io.ReadCloser, error) {
	input := &xzSource{r: bufio.NewReader(source), window: window}
	reader, err := xz.ReaderConfig{DictCap: 1 << 16}.NewReader(input)
	if err != nil {
		return nil, err
	}
	return &xzReader{reader, input}, nil
}

// An xzReader notices that a file is cut off between two blocks: its decompressor takes that
// for the end.
type xzReader struct {
	*xz.Reader
	input *xzSource
}

func (x *xzReader) Read(p []byte) (int, error) {
	n, err := x.Reader.Read(p)
	if err == io.EOF && string(x.input.last) != xzFooter {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (*xzReader) Close() error { return nil }

// xzFooter is at the end of each stream; NUL bytes may follow (The .xz File Format, section
// 2.1.2.4).
const xzFooter = "YZ"

// An xzSource refuses blocks whose dictionary is too large. The decompressor reads the size
// of a block's header, which is its first byte, and then the rest at once; what it reads so,
// and has the check sum of such a header, is one.
type xzSource struct {
	r      *bufio.Reader
	window *windowLease
	size   byte   // the last byte, if it was read alone
	last   []byte // the last bytes that were read, but for NULs
}

func (x *xzSource) Read(p []byte) (n int, err error) {
	if x.size > 0 && len(p) == xzHeaderLen(x.size)-1 {
		if n, err = io.ReadFull(x.r, p); err == nil {
			if err := x.check(append([]byte{x.size}, p...)); err != nil {
				return 0, err // with its bytes, the header would be taken
			}
		}
	} else {
		n, err = x.r.Read(p)
	}
	if x.size = 0; n == 1 && len(p) == 1 {
		x.size = p[0]
	}
	if read := bytes.TrimRight(p[:n], "\x00"); len(read) > 0 {
		x.last = append(x.last, read[max(0, len(read)-len(xzFooter)):]...)
		x.last = x.last[max(0, len(x.last)-len(xzFooter)):]
	}
	return n, err
}

// xzHeaderLen returns the length of a block's header whose first byte is size (The .xz File
// Format, section 3.1.1).
func xzHeaderLen(size byte) int { return (int(size) + 1) * 4 }

// check returns the error of the window if the bytes are a block's header with too large a
// dictionary.
func (x *xzSource) check(header []byte) error {
	sum := len(header) - crc32.Size
	if crc32.ChecksumIEEE(header[:sum]) != binary.LittleEndian.Uint32(header[sum:]) {
		return nil
	}
	return x.window.need(xzDictionary(header))
}

// xzDictionary returns the size of the dictionary in the header of a block (The .xz File
// Format, sections 3.1 and 5.3.1). It is 0 if the header is none that is known.
func xzDictionary(header []byte) int64 {
	const flags = 1
	properties := header[flags+1:]
	for _, present := range []byte{0x40, 0x80} { // the sizes of the block
		for more := header[flags]&present != 0; more && len(properties) > 0; properties = properties[1:] {
			more = properties[0]&0x80 != 0
		}
	}
	if len(properties) < 3 || properties[0] != 0x21 || properties[1] != 1 || properties[2] > 40 {
		return 0
	}
	bits := int64(properties[2])
	return (2 | bits&1) << (bits/2 + 11)
}
