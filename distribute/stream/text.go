package stream

import (
	"bytes"
	"io"

	"golang.org/x/text/encoding/unicode"
)

// isUTF16 reports whether text begins with a byte order mark of UTF-16.
func isUTF16(start []byte) bool {
	return len(start) >= 2 && (start[0] == 0xff && start[1] == 0xfe || start[0] == 0xfe && start[1] == 0xff)
}

// utf16Reader returns text in UTF-16 with a byte order mark as UTF-8 without one.
func utf16Reader(text io.Reader) io.Reader {
	return unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder().Reader(text)
}

// endsLinesWithReturns reports whether lines of text end with a carriage return alone, as those of
// old Macs do.
func endsLinesWithReturns(start []byte) bool {
	at := bytes.IndexByte(start, '\r')
	return at >= 0 && bytes.IndexByte(start, '\n') < 0 && len(bytes.Trim(start[at:], "\r")) > 0
}

// A returnReader returns text with newlines for carriage returns.
type returnReader struct{ text io.Reader }

func (r returnReader) Read(p []byte) (int, error) {
	n, err := r.text.Read(p)
	for i, c := range p[:n] {
		if c == '\r' {
			p[i] = '\n'
		}
	}
	return n, err
}

// A zeroReader has NUL bytes without end.
type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// A failedReader returns its error.
type failedReader struct{ err error }

func (f failedReader) Read([]byte) (int, error) { return 0, f.err }
