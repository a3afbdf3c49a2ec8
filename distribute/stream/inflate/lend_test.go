package inflate

import (
	"bytes"
	"slices"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// A lateReader reads what it is lent as late as possible.
type lateReader struct {
	bytes.Buffer
	pieces   [][]byte
	releases []func()
}

func (l *lateReader) Lend(piece []byte, release func()) error {
	l.pieces = append(l.pieces, piece)
	if release != nil {
		l.releases = append(l.releases, release)
	}
	if len(l.releases) == maxWindows { // the reader has no window left
		l.readAll()
	}
	return nil
}

func (l *lateReader) readAll() {
	for _, piece := range l.pieces {
		l.Write(piece)
	}
	for _, release := range l.releases {
		release()
	}
	l.pieces, l.releases = nil, nil
}

func TestLentContentStaysUntilItsRelease(t *testing.T) {
	t.Parallel()
	content := text(7, 5*maxWindows*freshSize)
	for name, member := range map[string]int{"one member": len(content), "small members": 10_000, "members that end with a window": windowLimit / 4} {
		var packed bytes.Buffer
		for piece := range slices.Chunk(content, member) {
			w, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
			_, _ = w.Write(piece)
			_ = w.Close()
		}
		for _, parallel := range []bool{false, true} {
			r, err := NewReader(bytes.NewReader(packed.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			r.SetIdle(func() bool { return parallel })
			var got lateReader
			n, err := r.WriteTo(&got)
			got.readAll()
			if n != int64(len(content)) || err != nil || !bytes.Equal(got.Bytes(), content) {
				t.Errorf("%s, in parallel %v: %d bytes of %d, %v", name, parallel, n, len(content), err)
			}
		}
	}
}
