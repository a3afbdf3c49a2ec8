package stream

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"

	"skidway/distribute/stream/inflate"
)

// A Codec is how a file is compressed.
type Codec string

// The codecs in which files are uploaded.
const (
	Plain Codec = "plain"
	Gzip  Codec = "gzip" // RFC 1952
	Zstd  Codec = "zstd" // RFC 8878
)

// The codecs whose content is uploaded as zstd frames.
const (
	XZ     Codec = "xz" // The .xz File Format, version 1.2.1
	Bzip2  Codec = "bzip2"
	LZ4    Codec = "lz4"    // LZ4 Frame Format, version 1.6.4, with legacy frames
	Brotli Codec = "brotli" // RFC 7932
)

// DefaultMaxWindow is the largest window that compressed data may need: what the zstd
// command uses up to --ultra -21, and xz up to -9.
const DefaultMaxWindow = 64 << 20

// UnsupportedCompressionError names a compression that Skidway does not read.
type UnsupportedCompressionError struct{ Compression string }

func (e *UnsupportedCompressionError) Error() string {
	return e.Compression + " is not supported: convert it to plain lines, or compress these with gzip or zstd"
}

// magics has the first bytes of compressed files.
var magics = []struct {
	start       string
	codec       Codec
	unsupported string
}{
	{"\x1f\x8b", Gzip, ""},
	{"\x28\xb5\x2f\xfd", Zstd, ""},
	{"\xfd7zXZ\x00", XZ, ""},
	{"\x04\x22\x4d\x18", LZ4, ""},
	{"\x02\x21\x4c\x18", LZ4, ""}, // a legacy frame
	{"7z\xbc\xaf\x27\x1c", "", "a 7z archive"},
	{"Rar!\x1a\x07", "", "a rar archive"},
	{"\xff\x06\x00\x00sNaPpY", "", "snappy compression"},
	{"PAR1", "", "a Parquet file"},
	{"\x1f\x9d", "", "compress (.Z) compression"},
	{"LZIP", "", "lzip compression"},
	{"\x89LZO\x00\r\n\x1a\n", "", "lzop compression"},
}

// extensions has the codecs whose data has no known first bytes.
var extensions = map[string]struct {
	codec       Codec
	unsupported string
}{
	".br":     {Brotli, ""},
	".snappy": {"", "snappy compression"},
	".sz":     {"", "snappy compression"},
	".lzma":   {"", "lzma compression"},
}

// Sniff returns the codec of a file by its first bytes, and by its name where the data of a
// codec has no known first bytes and these are no lines of text.
func Sniff(start []byte, name string) (Codec, error) {
	if isSkippable(start) {
		if codec, err := Sniff(behindSkippable(start), ""); codec == LZ4 && err == nil {
			return LZ4, nil
		}
		return Zstd, nil
	}
	for _, m := range magics {
		if bytes.HasPrefix(start, []byte(m.start)) {
			return supported(m.codec, m.unsupported)
		}
	}
	if isBzip2(start) {
		return Bzip2, nil
	}
	if e, known := extensions[path.Ext(name)]; known && !isText(start) {
		return supported(e.codec, e.unsupported)
	}
	return Plain, nil
}

// isText reports whether the bytes are lines of text, for files that are named after a domain, such as
// example.com.br: a tenth of the bytes of compressed data are control characters.
func isText(start []byte) bool {
	control := 0
	for _, c := range start {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' {
			control++
		}
	}
	return bytes.IndexByte(start, '\n') > 0 && start[0] >= ' ' && control <= len(start)/100
}

// isSkippable reports whether the bytes begin with a skippable frame, of zstd or of lz4 (RFC
// 8878, section 3.1.2).
func isSkippable(start []byte) bool {
	return len(start) >= 4 && start[0]&0xf0 == 0x50 && bytes.Equal(start[1:4], []byte("\x2a\x4d\x18"))
}

// behindSkippable returns what follows the skippable frame with which the bytes begin.
func behindSkippable(start []byte) []byte {
	if len(start) < 8 {
		return nil
	}
	size := 8 + int64(binary.LittleEndian.Uint32(start[4:]))
	return start[min(size, int64(len(start))):]
}

// isBzip2 reports whether the bytes begin with the header of a stream and of its first
// block, or of the end of an empty stream.
func isBzip2(start []byte) bool {
	if len(start) < 10 || string(start[:3]) != "BZh" || start[3] < '1' || start[3] > '9' {
		return false
	}
	first := string(start[4:10])
	return first == "1AY&SY" || first == "\x17rE8P\x90"
}

func supported(codec Codec, unsupported string) (Codec, error) {
	if unsupported != "" {
		return "", &UnsupportedCompressionError{unsupported}
	}
	return codec, nil
}

// CorruptError is the error for compressed data that can't be read further.
type CorruptError struct {
	Codec string
	Err   error
}

func (e *CorruptError) Error() string {
	switch {
	case errors.Is(e.Err, ErrRatio):
		return fmt.Sprintf("%s data is not read further: %v", e.Codec, e.Err)
	case errors.Is(e.Err, io.ErrUnexpectedEOF):
		return e.Codec + " data ends too early: the file is cut off"
	case errors.Is(e.Err, inflate.ErrChecksum):
		return "gzip data is corrupt: its checksum is wrong, so lines before this place may be damaged too"
	}
	return fmt.Sprintf("%s data is corrupt: %v", e.Codec, e.Err)
}

func (e *CorruptError) Unwrap() error { return e.Err }

// A WindowError is the error for compressed data that needs a larger window to be read than
// is allowed.
type WindowError struct {
	Codec     Codec
	Need, Max int64 // bytes
}

func (e *WindowError) Error() string {
	return fmt.Sprintf("%s data needs a window of %d MiB, and %d MiB are allowed", e.Codec, (e.Need+1<<20-1)>>20, e.Max>>20)
}

// IsDamage reports whether an error concerns the compressed data, and not the
// reader that it comes from.
func IsDamage(err error) bool {
	var corrupt *CorruptError
	var unsupported *UnsupportedCompressionError
	var window *WindowError
	return errors.As(err, &corrupt) || errors.As(err, &unsupported) || errors.As(err, &window)
}

// An UnknownCodecError is the error for a codec of a newer version.
type UnknownCodecError struct{ Codec Codec }

func (e *UnknownCodecError) Error() string {
	return fmt.Sprintf("a newer version wrote this: unknown compression %q", string(e.Codec))
}

// Check returns an UnknownCodecError unless files are uploaded in this codec.
func (c Codec) Check() error {
	if c != Plain && c != Gzip && c != Zstd {
		return &UnknownCodecError{c}
	}
	return nil
}
