package wrappers

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// journal is systemd's Journal Export Format.
var journal = Wrapper{
	Name:          "journal",
	Description:   "journalctl -o export",
	Specification: "https://systemd.io/JOURNAL_EXPORT_FORMATS/",
	Example:       "__REALTIME_TIMESTAMP=1795183205123456\nMESSAGE=…\n",
	Real: []Line{{
		Origin: "systemd documentation, Journal Export Formats",
		Text:   "MESSAGE=AccountsService-DEBUG(+): ActUserManager: ignoring unspecified session '8' since it's not graphical: Success",
		Inner:  "AccountsService-DEBUG(+): ActUserManager: ignoring unspecified session '8' since it's not graphical: Success",
	}},
	Peel: peelJournal,
}

// peelJournal reads a line of systemd's Journal Export Format: fields, the message among
// them, with a blank line behind each record.
func peelJournal(line, buffer []byte) (Record, bool) {
	if message, ok := bytes.CutPrefix(line, []byte("MESSAGE=")); ok {
		return Record{Inner: message, Buffer: buffer}, true
	}
	name, _, found := bytes.Cut(line, []byte("="))
	for i, c := range name { // no name begins with a digit
		if c != '_' && c-'A' > 'Z'-'A' && (i == 0 || c-'0' > 9) {
			return Record{}, false
		}
	}
	return Record{Buffer: buffer, Skip: true, Binary: !found && len(name) > 0}, !found || len(name) > 0
}

// A BinaryField is a field of the Journal Export Format whose value has control characters:
// behind the line of its name are its length in eight bytes, little-endian, the value and a
// newline. The zero value is of no field.
type BinaryField struct {
	Open    bool   // more lines belong to it
	Message bool   // it holds a line of the log
	Value   []byte // of a message
	TooLong bool   // the message has more than MaxLine bytes
	Flushed bool   // what was known of it was counted: the rest is passed over

	length []byte // as far as it was read
	left   int64  // bytes of the value that were not read
}

const binaryLengthLen = 8

// maxBinary bounds the length of a binary field, in bytes. Text behind a line that only looks
// like a name would be a larger one.
const maxBinary = 16 << 20

// Begin begins the field that a line names.
func (f *BinaryField) Begin(name []byte) {
	*f = BinaryField{Open: true, Message: string(name) == "MESSAGE", length: f.length[:0], Value: f.Value[:0]}
}

// Add reads the next line. If the field ends with it, it is not open any more. ok reports
// whether the line is one of the field.
//
// Not all bytes of a value need arrive: a line that is too long is nil, and NULs are left out.
// Then the field ends there, or at the latest where the next record begins, and the message that
// was taken for a part of the value is the field's.
func (f *BinaryField) Add(line []byte) (ok bool) {
	if line == nil || bytes.HasPrefix(line, []byte("__CURSOR=")) {
		f.Open, f.TooLong = false, f.Message
		f.Message = f.Message || line != nil && len(f.Value) > 0
		return true
	}
	if message, found := bytes.CutPrefix(line, []byte("MESSAGE=")); found && !f.Message {
		f.Value = append(f.Value[:0], message...)
	}
	if missing := binaryLengthLen - len(f.length); missing > 0 {
		if missing > len(line) { // the newline belongs to the length
			f.length = append(append(f.length, line...), '\n')
			if len(f.length) == binaryLengthLen {
				f.Open = f.setLeft()
			}
			return f.Open
		}
		f.length = append(f.length, line[:missing]...)
		line = line[missing:]
		if f.Open = f.setLeft(); !f.Open {
			return false
		}
	}
	if int64(len(line)) > f.left {
		f.Open = false
		return false
	}
	if f.left -= int64(len(line)); f.left == 0 {
		f.Open = false
	}
	f.keep(line)
	if f.Open {
		f.left--
		f.keep([]byte{'\n'})
	}
	return true
}

// Flush makes the field one whose rest is passed over.
func (f *BinaryField) Flush() { f.Message, f.Value, f.Flushed = false, f.Value[:0], true }

// State returns what Restore needs to pass over the rest of a field.
func (f *BinaryField) State() string { return fmt.Sprintf("%x,%d;", f.length, f.left) }

// Restore begins a field of which state was written, at the start of a text. It returns what
// follows that.
func (f *BinaryField) Restore(text string) (rest string) {
	state, rest, _ := strings.Cut(text, ";")
	length, left, _ := strings.Cut(state, ",")
	read, err := hex.DecodeString(length)
	n, failed := strconv.ParseInt(left, 10, 64)
	if err == nil && failed == nil && len(read) <= binaryLengthLen && n >= 0 {
		*f = BinaryField{Open: true, length: read, left: n, Flushed: true}
	}
	return rest
}

// setLeft reads the length, and reports whether it can be one.
func (f *BinaryField) setLeft() bool {
	length := binary.LittleEndian.Uint64(f.length)
	f.left = int64(min(length, maxBinary))
	return length <= maxBinary
}

// keep appends a part of the value, if it is that of a message.
func (f *BinaryField) keep(part []byte) {
	if !f.Message || f.TooLong {
		return
	}
	if f.TooLong = len(f.Value)+len(part) > MaxLine; !f.TooLong {
		f.Value = append(f.Value, part...)
	}
}
