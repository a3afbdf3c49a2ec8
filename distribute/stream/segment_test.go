package stream

import "testing"

func TestSegmentsSuitTheWindow(t *testing.T) {
	t.Parallel()
	for window, want := range map[int64]int64{
		1 << 30: SegmentSize, 16 << 20: SegmentSize, 10 << 20: EmbeddedSegmentSize, 4 << 20: smallSegmentSize, 1 << 20: smallSegmentSize,
	} {
		if got := SegmentFor(window, SegmentSize); got != want {
			t.Errorf("a window of %d bytes has segments of %d, want %d", window, got, want)
		}
	}
	if got := SegmentFor(1<<30, EmbeddedSegmentSize); got != EmbeddedSegmentSize {
		t.Errorf("segments of %d bytes, want at most %d", got, EmbeddedSegmentSize)
	}
}

// Whatever the place of a segment's end, all that lies between a checkpoint and the end of
// the upload leaves a whole segment before it.
func TestReserveHoldsMoreThanALineBehindACheckpoint(t *testing.T) {
	t.Parallel()
	for _, segment := range segmentSizes {
		needed := MaxLine + checkpointInterval(segment)
		if behind := (int64(ReserveSegments(segment)) - 1) * segment; behind < needed {
			t.Errorf("segments of %d bytes: %d bytes behind the first one, want %d", segment, behind, needed)
		}
	}
}
