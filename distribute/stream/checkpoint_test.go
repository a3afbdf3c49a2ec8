package stream

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/iotest"
)

// largePieces returns content of several checkpoint intervals, and the same in compressed
// pieces of different sizes.
func largePieces(t testing.TB, codec Codec) (content, packed []byte) {
	t.Helper()
	line := []byte("8.8.8.8 2026-11-01 a line\n")
	for i, size := range []int{10, CheckpointInterval + 1000, 0, CheckpointInterval / 2, CheckpointInterval / 2, 3 * CheckpointInterval, 70} {
		piece := slices.Concat(varied(size/50), bytes.Repeat(line, size/len(line)))
		content = append(content, piece...)
		switch codec {
		case Plain:
			packed = append(packed, piece...)
		case Zstd:
			packed = append(packed, skippable(byte(i))...)
			fallthrough
		default:
			packed = append(packed, packers[codec](t, piece)...)
		}
	}
	return content, packed
}

func TestContentIsReadOnFromEachCheckpoint(t *testing.T) {
	t.Parallel()
	for _, codec := range []Codec{Plain, Gzip, Zstd} {
		t.Run(string(codec), func(t *testing.T) {
			t.Parallel()
			content, packed := largePieces(t, codec)
			checkpoints := NewCheckpoints(codec, SegmentSize, Checkpoint{})
			var whole bytes.Buffer
			if err := codec.CopyContent(&whole, bytes.NewReader(packed), Checkpoint{}, Decoding{Checkpoints: []*Checkpoints{checkpoints}}); err != nil || !bytes.Equal(whole.Bytes(), content) {
				t.Fatalf("%d bytes, %v; want %d", whole.Len(), err, len(content))
			}
			found := map[int64]bool{}
			for next := 0; next < len(content)+CheckpointInterval/3; next += CheckpointInterval / 3 {
				at := int64(min(next, len(content)))
				c := checkpoints.Before(at)
				if c.Content > at || codec == Plain && c.Content != at {
					t.Errorf("byte %d comes after byte %d", c.Content, at)
				}
				if c.Content == 0 || found[c.Content] {
					continue
				}
				found[c.Content] = true
				parsed, err := ParseCheckpoint(codec, c.Encode())
				if err != nil || parsed.Raw != c.Raw || parsed.Content != c.Content {
					t.Fatalf("%+v, %v; want %+v", parsed, err, c)
				}
				var rest bytes.Buffer
				source := iotest.HalfReader(bytes.NewReader(packed[c.Raw:]))
				if err := codec.CopyContent(&rest, source, parsed, Decoding{}); err != nil || !bytes.Equal(rest.Bytes(), content[c.Content:]) {
					t.Errorf("from byte %d: %d bytes, %v; want %d", c.Content, rest.Len(), err, len(content[c.Content:]))
				}
			}
			if len(found) < 3 {
				t.Errorf("%d checkpoints", len(found))
			}
		})
	}
}

func TestCheckpointsOfAnEndlessLineAreBounded(t *testing.T) {
	t.Parallel()
	checkpoints := NewCheckpoints(Zstd, SegmentSize, Checkpoint{})
	for i := range int64(10_000) {
		checkpoints.Save(Checkpoint{Raw: i + 1, Content: (i + 1) * CheckpointInterval})
		if len(checkpoints.saved) > maxCheckpoints {
			t.Fatalf("%d checkpoints", len(checkpoints.saved))
		}
	}
	if first := checkpoints.Before(CheckpointInterval); first.Raw != 1 {
		t.Errorf("the first one is %+v", first)
	}
	if last := checkpoints.Before(10_000 * CheckpointInterval); last.Raw < 9_000 || last.Raw > 10_000 {
		t.Errorf("the last one is %+v", last)
	}
}

func TestMalformedCheckpointIsRefused(t *testing.T) {
	t.Parallel()
	for _, codec := range []Codec{Plain, Gzip, Zstd} {
		good := Checkpoint{Raw: 1000, Content: 20_000}.Encode()
		for _, encoded := range [][]byte{nil, good[:3], append(slices.Clone(good), 0), bytes.Repeat([]byte{0xff}, 20)} {
			if _, err := ParseCheckpoint(codec, encoded); !errors.Is(err, ErrCheckpoint) {
				t.Errorf("%s, %x: %v", codec, encoded, err)
			}
		}
	}
}

func TestZstdFramesEndWhereTheDecoderEndsThem(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("8.8.8.8 2026-11-01 a line\n"), 20_000)
	var pieces [][]byte
	for _, size := range []int{0, 1, 255, 256, 65_792, len(content)} {
		pieces = append(pieces, frame(t, content[:size]))
	}
	pieces = append(pieces, skippable(0), skippable(200))
	for i, piece := range pieces {
		f := newFrameReader(iotest.OneByteReader(bytes.NewReader(slices.Concat(piece, pieces[0]))), &windowLease{max: DefaultMaxWindow})
		got, err := io.ReadAll(f)
		if err != nil || !bytes.Equal(got, piece) || f.raw != int64(len(piece)) {
			t.Errorf("piece %d: %d bytes, %v; want %d", i, len(got), err, len(piece))
		}
		if more, err := f.next(); !more || err != nil {
			t.Errorf("piece %d: no frame follows, %v", i, err)
		}
	}
}
