package inflate_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"skidway/distribute/stream/inflate"
)

// member returns a member of a gzip file.
func member(t testing.TB, content string, header gzip.Header) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Header = header
	if _, err := io.WriteString(w, content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// inflated returns the content of a gzip file, and the error, nil at its end.
func inflated(source io.Reader) (string, error) {
	r, err := inflate.NewReader(source)
	if err != nil {
		return "", err
	}
	content, err := io.ReadAll(r)
	return string(content), err
}

// withHeaderChecksum adds the checksum of its header to a member whose header has ten bytes.
func withHeaderChecksum(packed []byte, change uint16) []byte {
	packed = slices.Clone(packed)
	packed[3] |= 2
	sum := uint16(crc32.ChecksumIEEE(packed[:10])) ^ change
	return slices.Insert(packed, 10, byte(sum), byte(sum>>8))
}

func TestMembersAreReadOneAfterTheOther(t *testing.T) {
	large := strings.Repeat("a line of some length\n", 50_000)
	plain := member(t, "plain\n", gzip.Header{})
	named := member(t, "named\n", gzip.Header{Name: "a.log", Comment: "a comment", Extra: bytes.Repeat([]byte("x"), 1000)})
	for name, c := range map[string]struct {
		packed []byte
		want   string
	}{
		"one":                      {plain, "plain\n"},
		"all fields of a header":   {named, "named\n"},
		"the header's checksum":    {withHeaderChecksum(plain, 0), "plain\n"},
		"several":                  {slices.Concat(plain, named, member(t, "", gzip.Header{}), member(t, large, gzip.Header{}), plain), "plain\nnamed\n" + large + "plain\n"},
		"padding":                  {slices.Concat(plain, make([]byte, 100_000)), "plain\n"},
		"a kilobyte of no content": {slices.Repeat(member(t, "", gzip.Header{}), 50), ""},
	} {
		for readerName, reader := range map[string]io.Reader{
			"whole":        bytes.NewReader(c.packed),
			"byte by byte": iotest.OneByteReader(bytes.NewReader(c.packed)),
		} {
			if got, err := inflated(reader); got != c.want || err != nil {
				t.Errorf("%s, %s: %d bytes, %v; want %d", name, readerName, len(got), err, len(c.want))
			}
		}
	}
}

func TestDamageOfAFileIsNamedAfterTheContentBeforeIt(t *testing.T) {
	plain := member(t, "plain\n", gzip.Header{})
	changed := func(at int, value byte) []byte {
		packed := slices.Clone(plain)
		packed[at] = value
		return packed
	}
	for name, c := range map[string]struct {
		packed []byte
		want   string
		err    error
	}{
		"empty":                    {nil, "", io.EOF},
		"other bytes":              {[]byte("no gzip file"), "", inflate.ErrHeader},
		"another method":           {changed(2, 7), "", inflate.ErrHeader},
		"a flag without meaning":   {changed(3, 0x40), "", inflate.ErrHeader},
		"a wrong header checksum":  {withHeaderChecksum(plain, 1), "", inflate.ErrHeader},
		"a wrong checksum":         {changed(len(plain)-8, plain[len(plain)-8]+1), "plain\n", inflate.ErrChecksum},
		"a wrong size":             {changed(len(plain)-1, 1), "plain\n", inflate.ErrChecksum},
		"other bytes after it":     {slices.Concat(plain, []byte("garbage")), "plain\n", inflate.ErrTrailing},
		"bytes after the padding":  {slices.Concat(plain, make([]byte, 9), plain), "plain\n", inflate.ErrTrailing},
		"half a header after it":   {slices.Concat(plain, plain[:5]), "plain\n", io.ErrUnexpectedEOF},
		"a header without content": {slices.Concat(plain, plain[:10]), "plain\n", io.ErrUnexpectedEOF},
	} {
		if got, err := inflated(bytes.NewReader(c.packed)); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %q, %v; want %q, %v", name, got, err, c.want, c.err)
		}
	}
	for n := range plain[1:] {
		if _, err := inflated(bytes.NewReader(plain[:n+1])); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("the first %d bytes of %d: %v", n+1, len(plain), err)
		}
	}
}

func TestWriteToIsResumedAfterAnErrorOfTheWriter(t *testing.T) {
	content := strings.Repeat("a line of some length\n", 50_000)
	r, err := inflate.NewReader(bytes.NewReader(member(t, content, gzip.Header{})))
	if err != nil {
		t.Fatal(err)
	}
	var begin [5]byte
	if _, err := io.ReadFull(r, begin[:]); err != nil {
		t.Fatal(err)
	}
	full := errors.New("full")
	if n, err := r.WriteTo(writerFunc(func(p []byte) (int, error) { return 0, full })); n != 0 || err != full {
		t.Errorf("%d, %v", n, err)
	}
	var rest bytes.Buffer
	if n, err := r.WriteTo(&rest); n != int64(rest.Len()) || err != nil || string(begin[:])+rest.String() != content {
		t.Errorf("%d of %d bytes, %v", n, rest.Len(), err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
