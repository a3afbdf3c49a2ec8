package accesslog

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// peelJournal reads a line of systemd's Journal Export Format: fields, the message among
// them, with a blank line behind each record.
func peelJournal(line, buffer []byte) (peeled, bool) {
	if message, ok := bytes.CutPrefix(line, []byte("MESSAGE=")); ok {
		return peeled{inner: message, buffer: buffer}, true
	}
	name, _, found := bytes.Cut(line, []byte("="))
	for i, c := range name { // no name begins with a digit
		if c != '_' && c-'A' > 'Z'-'A' && (i == 0 || c-'0' > 9) {
			return peeled{}, false
		}
	}
	return peeled{buffer: buffer, skip: true, binary: !found && len(name) > 0}, !found || len(name) > 0
}

// A binaryField is a field of the Journal Export Format whose value has control characters:
// behind the line of its name are its length in eight bytes, little-endian, the value and a
// newline.
type binaryField struct {
	open    bool
	message bool
	length  []byte // as far as it was read
	left    int64  // bytes of the value that were not read
	value   []byte // of a message
	tooLong bool
	flushed bool // what was known of it was counted: the rest is passed over
}

const binaryLengthLen = 8

// maxBinary bounds the length of a binary field, in bytes. Text behind a line that only looks
// like a name would be a larger one.
const maxBinary = 16 << 20

// begin begins the field that a line names.
func (f *binaryField) begin(name []byte) {
	*f = binaryField{open: true, message: string(name) == "MESSAGE", length: f.length[:0], value: f.value[:0]}
}

// add reads the next line. If the field ends with it, it is not open any more. ok reports
// whether the line is one of the field.
//
// Not all bytes of a value need arrive: a line that is too long is nil, and NULs are left out.
// Then the field ends there, or at the latest where the next record begins, and the message that
// was taken for a part of the value is the field's.
func (f *binaryField) add(line []byte) (ok bool) {
	if line == nil || bytes.HasPrefix(line, []byte("__CURSOR=")) {
		f.open, f.tooLong = false, f.message
		f.message = f.message || line != nil && len(f.value) > 0
		return true
	}
	if message, found := bytes.CutPrefix(line, []byte("MESSAGE=")); found && !f.message {
		f.value = append(f.value[:0], message...)
	}
	if missing := binaryLengthLen - len(f.length); missing > 0 {
		if missing > len(line) { // the newline belongs to the length
			f.length = append(append(f.length, line...), '\n')
			if len(f.length) == binaryLengthLen {
				f.open = f.setLeft()
			}
			return f.open
		}
		f.length = append(f.length, line[:missing]...)
		line = line[missing:]
		if f.open = f.setLeft(); !f.open {
			return false
		}
	}
	if int64(len(line)) > f.left {
		f.open = false
		return false
	}
	if f.left -= int64(len(line)); f.left == 0 {
		f.open = false
	}
	f.keep(line)
	if f.open {
		f.left--
		f.keep([]byte{'\n'})
	}
	return true
}

// flush makes the field one whose rest is passed over.
func (f *binaryField) flush() { f.message, f.value, f.flushed = false, f.value[:0], true }

// state returns what restore needs to pass over the rest of a field.
func (f *binaryField) state() string { return fmt.Sprintf("%x,%d;", f.length, f.left) }

// restore begins a field of which state was written, at the start of a text. It returns what
// follows that.
func (f *binaryField) restore(text string) (rest string) {
	state, rest, _ := strings.Cut(text, ";")
	length, left, _ := strings.Cut(state, ",")
	read, err := hex.DecodeString(length)
	n, failed := strconv.ParseInt(left, 10, 64)
	if err == nil && failed == nil && len(read) <= binaryLengthLen && n >= 0 {
		*f = binaryField{open: true, length: read, left: n, flushed: true}
	}
	return rest
}

// setLeft reads the length, and reports whether it can be one.
func (f *binaryField) setLeft() bool {
	length := binary.LittleEndian.Uint64(f.length)
	f.left = int64(min(length, maxBinary))
	return length <= maxBinary
}

// keep appends a part of the value, if it is that of a message.
func (f *binaryField) keep(part []byte) {
	if !f.message || f.tooLong {
		return
	}
	if f.tooLong = len(f.value)+len(part) > maxJoined; !f.tooLong {
		f.value = append(f.value, part...)
	}
}
