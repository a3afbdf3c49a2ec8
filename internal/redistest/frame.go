package redistest

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
)

// errFrame is the error of bytes that are not RESP.
var errFrame = errors.New("not RESP as Redis speaks it")

// maxLength is the maximum of bytes of one string and of elements of one list that
// Redis accepts.
const maxLength = 512 << 20

// frames cuts one direction of a connection into whole messages, as the
// specifications of RESP2 and RESP3 define them. Streamed strings and lists of
// RESP3 are not among them: no Redis sends any.
type frames struct {
	in  *bufio.Reader
	raw bytes.Buffer
}

func newFrames(in io.Reader) *frames { return &frames{in: bufio.NewReader(in)} }

// reply reads one message of a server. It returns the bytes as they came, valid
// until the next call; with an error, those that came before it. An
// end between two messages is [io.EOF], one inside is [io.ErrUnexpectedEOF].
func (f *frames) reply() ([]byte, error) {
	f.raw.Reset()
	for todo := 1; todo > 0; { // values that are still to come
		more, err := f.value()
		if err != nil {
			return f.raw.Bytes(), f.inside(err)
		}
		todo += more - 1
	}
	return f.raw.Bytes(), nil
}

// request reads one message of a client and returns, beside its bytes, its
// words: those of a list of strings or of a line as one types it. An empty
// request, which Redis does not answer, has none.
func (f *frames) request() (raw []byte, words []string, err error) {
	if head, _ := f.in.Peek(1); len(head) == 1 && head[0] == '*' {
		raw, err = f.reply()
		return raw, list(raw), err
	}
	f.raw.Reset()
	line, err := f.in.ReadBytes('\n')
	f.raw.Write(line)
	return line, strings.Fields(string(line)), f.inside(err)
}

// inside returns the error for an end in the middle of a message.
func (f *frames) inside(err error) error {
	if err == io.EOF && f.raw.Len() > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}

// value reads a value without its elements and returns how many of those follow.
func (f *frames) value() (elements int, err error) {
	line, err := f.in.ReadBytes('\n')
	f.raw.Write(line)
	if err != nil {
		return 0, err
	}
	text, ok := strings.CutSuffix(string(line), "\r\n")
	if !ok || text == "" {
		return 0, errFrame
	}
	switch kind, rest := text[0], text[1:]; kind {
	case '+', '-', ':', '_', '#', ',', '(':
		return 0, nil
	case '$', '=', '!':
		n, err := count(rest)
		if err != nil || n < 0 {
			return 0, err
		}
		return 0, f.content(n)
	case '*', '~', '>':
		n, err := count(rest)
		return max(n, 0), err
	case '%':
		n, err := count(rest)
		return 2 * max(n, 0), err
	case '|': // attributes belong to the value after them
		n, err := count(rest)
		return 2*max(n, 0) + 1, err
	}
	return 0, errFrame
}

// content reads a string of n bytes and its end of line.
func (f *frames) content(n int) error {
	if _, err := io.CopyN(&f.raw, f.in, int64(n+len("\r\n"))); err != nil {
		return err
	}
	if !bytes.HasSuffix(f.raw.Bytes(), []byte("\r\n")) {
		return errFrame
	}
	return nil
}

// count reads a number of bytes or elements; -1 stands for null.
func count(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < -1 || n > maxLength {
		return 0, errFrame
	}
	return n, nil
}

// list returns the strings of a list; none when it holds anything else.
func list(raw []byte) (words []string) {
	text := string(raw)
	_, text, _ = strings.Cut(text, "\r\n")
	for text != "" {
		head, rest, _ := strings.Cut(text, "\r\n")
		n, err := strconv.Atoi(strings.TrimPrefix(head, "$"))
		if err != nil || n < 0 || len(rest) < n+len("\r\n") {
			return nil
		}
		words, text = append(words, rest[:n]), rest[n+len("\r\n"):]
	}
	return words
}
