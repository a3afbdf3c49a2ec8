package distribute

import (
	"context"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"skidway/distribute/stream"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// A memoryGauge uploads as a shipper does, into a channel with the longest
// names, and looks after each append at what a real Redis uses for it.
type memoryGauge struct {
	db    *rdb.DB
	keys  keys
	block []byte
}

const (
	gaugeID       = "0123456789abcdef01234567-abcdefgh" // as long as one gets, by Force
	gaugeShipment = math.MaxInt32
)

func newMemoryGauge(t testing.TB) *memoryGauge {
	g := &memoryGauge{
		db:    redistest.DB(t),
		keys:  channelKeys(strings.Repeat("p", 64), strings.Repeat("c", 100)),
		block: make([]byte, stream.BlockSize),
	}
	return g
}

// measure returns the most that was used at any moment and what is used at the
// end.
func (g *memoryGauge) measure(t rapid.TB, size, segment int64) (most, last int64) {
	t.Helper()
	ctx := context.Background()
	var full int64 // of the segments that are complete
	var names []string
	for done := int64(0); done < size; {
		within := done % segment
		n := min(stream.BlockSize, segment-within, size-done)
		name := g.keys.segment(gaugeID, gaugeShipment, int(done/segment))
		if within == 0 {
			full, names = last, append(names, name)
		}
		done += n
		pipe := g.db.TxPipeline() // as a shipper does it
		pipe.Do(ctx, "append", name, g.block[:n])
		if _, err := pipe.Exec(ctx); err != nil {
			t.Fatal(err)
		}
		usage, err := g.db.MemoryUsage(ctx, name, 0).Result()
		if err != nil {
			t.Fatal(err)
		}
		last = full + usage
		most = max(most, last)
	}
	if err := g.db.Del(ctx, names...).Err(); err != nil {
		t.Fatal(err)
	}
	return most, last
}

func TestUploadCostsNoMoreThanWasReckoned(t *testing.T) {
	t.Parallel()
	gauge := newMemoryGauge(t)
	holds := func(t rapid.TB, size, segment int64) {
		t.Helper()
		if most, _ := gauge.measure(t, size, segment); most > stream.UploadCost(size, segment) {
			t.Fatalf("%d bytes in segments of %d used %d bytes of Redis, reckoned were %d", size, segment, most, stream.UploadCost(size, segment))
		}
	}
	var edges []int64
	for _, around := range []int64{0, stream.BlockSize, 2 * stream.BlockSize, 3 * stream.BlockSize, 4 * stream.BlockSize, 5 * stream.BlockSize,
		8 * stream.BlockSize, stream.SegmentSize - stream.BlockSize, stream.SegmentSize, stream.SegmentSize + stream.BlockSize, 2 * stream.SegmentSize} {
		for _, off := range []int64{-4096, -32, -1, 0, 1, 32, 4096} {
			edges = append(edges, max(around+off, 1))
		}
	}
	for _, size := range edges {
		holds(t, size, stream.SegmentSize)
	}
	rapid.Check(t, func(t *rapid.T) {
		segment := rapid.SampledFrom([]int64{stream.SegmentSize, stream.EmbeddedSegmentSize}).Draw(t, "segment")
		holds(t, rapid.Int64Range(1, 9<<20).Draw(t, "size"), segment)
	})
}

func TestWholeSegmentsCostLittleMoreThanTheirContent(t *testing.T) {
	t.Parallel()
	gauge := newMemoryGauge(t)
	for count := range int64(2) {
		size := (count + 1) * stream.SegmentSize
		_, last := gauge.measure(t, size, stream.SegmentSize)
		if cost := stream.UploadCost(size, stream.SegmentSize); float64(cost) > 1.01*float64(last) || float64(last) > 1.01*float64(size) {
			t.Errorf("%d segments of %d bytes use %d bytes of Redis, reckoned are %d", count+1, int64(stream.SegmentSize), last, cost)
		}
	}
}

func TestSegmentCountCoversTheUpload(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		segment := rapid.Int64Range(1, 1<<30).Draw(t, "segment")
		size := rapid.Int64Range(0, 1<<50).Draw(t, "size")
		n := int64(stream.SegmentCount(size, segment))
		if n*segment < size || n > 0 && (n-1)*segment >= size {
			t.Fatalf("%d bytes in %d segments of %d", size, n, segment)
		}
	})
}
