package stream

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

func (a *archive) eachOfZip() error {
	a.file.left = maxDirectory
	archive, err := zip.NewReader(a.file, a.Size)
	if err != nil {
		return a.damaged("zip", err)
	}
	a.file.left = -1
	a.register(archive)
	for _, f := range archive.File {
		if !f.Mode().IsRegular() {
			continue
		}
		taken, err := a.take(f.Name)
		if taken {
			err = a.passOfZip(f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// register adds the methods of compression that the archive package does not know
// (APPNOTE.TXT, section 4.4.5).
func (a *archive) register(r *zip.Reader) {
	for method, codec := range map[uint16]Codec{12: Bzip2, 93: Zstd, 95: XZ} {
		r.RegisterDecompressor(method, func(packed io.Reader) io.ReadCloser {
			content, err := codec.Inflate(packed, a.options)
			if err != nil {
				return io.NopCloser(failedReader{err})
			}
			return content
		})
	}
}

func (a *archive) passOfZip(f *zip.File) error {
	const encrypted = 1
	if f.Flags&encrypted != 0 {
		return a.fail(f.Name, &UnsupportedCompressionError{"encryption"})
	}
	content, err := f.Open()
	if errors.Is(err, zip.ErrAlgorithm) {
		return a.fail(f.Name, &UnsupportedCompressionError{fmt.Sprintf("zip compression of method %d", f.Method)})
	}
	if err != nil {
		return a.fail(f.Name, a.damaged("zip", err))
	}
	defer func() { _ = content.Close() }()
	return a.pass(f.Name, f.Modified, int64(f.UncompressedSize64), memberReader{content, "zip", a})
}

// isZip reports whether the bytes begin as a zip archive (APPNOTE.TXT, sections 4.3.7 and
// 4.3.16).
func isZip(start []byte) bool {
	return bytes.HasPrefix(start, []byte("PK\x03\x04")) || bytes.HasPrefix(start, []byte("PK\x05\x06"))
}

// A watchedObject keeps the error of its reader. It bounds the bytes that may be read, so
// that the directory of a zip archive, which is kept in memory, is bounded.
type watchedObject struct {
	Object
	left int64 // bytes that may be read; negative: any number
	err  error
}

var errDirectory = fmt.Errorf("its directory is larger than %d MiB", maxDirectory>>20)

func (w *watchedObject) ReadAt(p []byte, offset int64) (int, error) {
	if w.left >= 0 {
		if w.left -= int64(len(p)); w.left < 0 {
			return 0, errDirectory
		}
	}
	n, err := w.Object.ReadAt(p, offset)
	if err != nil && err != io.EOF {
		w.err = err
	}
	if w.left >= 0 && directoryRecords(p[:n]) > maxDirectory/minRecord {
		return 0, errDirectory // before memory is allocated for them
	}
	return n, err
}

const minRecord = 46 // bytes of a zip archive's directory for each member

// directoryRecords returns the number of members in the record at the end of a zip archive,
// if the bytes begin with one that may have a large number (APPNOTE.TXT, section 4.3.14).
func directoryRecords(b []byte) uint64 {
	const at = 32
	if len(b) < at+8 || string(b[:4]) != "PK\x06\x06" {
		return 0
	}
	return binary.LittleEndian.Uint64(b[at:])
}
