package stream

import (
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

// A zeroReader has NUL bytes without end.
type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// A failedReader returns its error.
type failedReader struct{ err error }

func (f failedReader) Read([]byte) (int, error) { return 0, f.err }
