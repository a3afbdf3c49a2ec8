package distribute

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"skidway/distribute/stream"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestRecordIsReadBack(t *testing.T) {
	t.Parallel()
	h := stream.Head("8.8.8.8 2026-11-01 a\n8.8.8.8")
	r := parseRecord("id", map[string]string{
		"name": "access.log", "ship": "3", "state": "done", "head": h.Fingerprint().Encode(), "codec": "gzip", "size": "1234",
		"by": "shipper", "base": "21", "raw": "42", "segment": "4190208", "unit": "4194816", "booked": "5", "freed": "3", "upload": "1213", "admitted": "1793500000123",
		"ship:s": "2", "part:s": "3", "commit:s": "7", "keep:s": "19", "long:s": "1 2 3", "resume:s": "21", "end:s": "28", "tail:s": "1 0 0 1 7\n", "state:s": "minimal", "note:s": "partial",
		"ship:other": "3", "part:other": "3",
	})
	if r.id != "id" || r.name != "access.log" || r.shipment != 3 || r.state != FileDone || r.codec != stream.Gzip || r.size != 1234 ||
		r.by != "shipper" || r.base != 21 || r.raw != 42 || r.segment != stream.SegmentSize ||
		r.unit != 4194816 || r.booked != 5 || r.freed != 3 || r.upload != 1213 {
		t.Errorf("%+v", r)
	}
	if r.admitted.UnixMilli() != 1793500000123 || !r.head.SameFile(h) || !r.inRedis() {
		t.Errorf("%+v", r)
	}
	want := progress{shipment: 2, part: 3, commits: 7, keep: 19, long: "1 2 3", resume: 21, end: 28, tail: "1 0 0 1 7\n", state: "minimal", note: "partial"}
	if len(r.counted) != 2 || r.counted["s"] != want || r.counted["other"] != (progress{shipment: 3, part: 3}) {
		t.Errorf("%+v", r.counted)
	}
	if !r.counted["s"].unfinished() || r.counted["other"].unfinished() {
		t.Errorf("%+v: want only s to be unfinished", r.counted)
	}
}

func TestKindOfAProblemFollowsFromWhatWasCounted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		progress progress
		want     *Problem
	}{
		"none":     {progress{end: 28}, nil},
		"failed":   {progress{note: "x", missing: true}, &Problem{"a.log", NotCounted, "x"}},
		"in part":  {progress{note: "x", missing: true, end: 28}, &Problem{"a.log", CountedInPart, "x"}},
		"too long": {progress{note: "x", end: 28}, &Problem{"a.log", LinesTooLong, "x"}},
	} {
		if got := c.progress.problem("a.log"); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: problem %+v, want %+v", name, got, c.want)
		}
	}
}

func TestNoteOfLongLinesNamesTheFirst(t *testing.T) {
	t.Parallel()
	for want, long := range map[string]stream.LongLines{
		"": {},
		"line 3 is longer than 1 MiB: counted as unparsable":                                            {Count: 1, Line: 3, Offset: 17},
		"line 3 is longer than 1 MiB, and 4 more: counted as unparsable":                                {Count: 5, Line: 3, Offset: 17},
		"the line at byte 1004 of the uncompressed content is longer than 1 MiB: counted as unparsable": {Count: 1, Offset: 1004},
	} {
		if note := longLinesNote(long); note != want {
			t.Errorf("note %q, want %q", note, want)
		}
	}
}

// numberFields are all fields that a number is expected in.
var numberFields = []string{"ship", "size", "base", "raw", "segment", "unit", "booked", "freed", "upload", "ship:s", "part:s", "commit:s", "keep:s", "resume:s", "end:s"}

func TestMalformedNumberOfARecordIsZero(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " ", "-1", "1.5", "1e3", "0x10", "12 ", "99999999999999999999", "\xff"} {
		fields := map[string]string{"admitted": text}
		for _, field := range numberFields {
			fields[field] = text
		}
		r := parseRecord("id", fields)
		if r.shipment|r.size|r.base|r.raw|r.segment|r.unit|r.booked|r.freed|r.upload != 0 || r.counted["s"] != (progress{}) {
			t.Errorf("%q is read as a number: %+v", text, r)
		}
	}
}

func TestSegmentsOfARecordAreNamedOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		freed := rapid.Int64Range(0, 1000).Draw(t, "freed")
		booked := freed + rapid.Int64Range(0, 1000).Draw(t, "in Redis")
		r := parseRecord("id", map[string]string{"ship": "1", "segment": "1000", "freed": strconv.FormatInt(freed, 10), "booked": strconv.FormatInt(booked, 10)})
		names := map[string]bool{}
		for _, name := range r.segmentKeys(channelKeys("skidway", "web")) {
			names[name] = true
		}
		if len(names) != int(booked-freed) {
			t.Fatalf("%d names, want %d", len(names), booked-freed)
		}
	})
}

func TestSegmentsAreNeedlessBehindTheSlowestSubscriber(t *testing.T) {
	t.Parallel()
	part := func(keep int64) progress { return progress{part: 2, keep: keep} }
	for name, c := range map[string]struct {
		state   FileState
		freed   int64
		counted map[string]progress
		want    int64
	}{
		"both count":                 {FileUploading, 0, map[string]progress{"s": part(350), "t": part(210)}, 2},
		"one has counted nothing":    {FileUploading, 0, map[string]progress{"s": part(350)}, 0},
		"one came late":              {FileUploading, 1, map[string]progress{"s": part(350)}, 3},
		"one has finished":           {FileUploaded, 0, map[string]progress{"s": {shipment: 2}, "t": part(100)}, 1},
		"both have finished":         {FileUploading, 0, map[string]progress{"s": {shipment: 2}, "t": {shipment: 2}}, 4},
		"one counted another upload": {FileUploading, 0, map[string]progress{"s": part(350), "t": {part: 1, keep: 300}}, 0},
		"done":                       {FileDone, 0, map[string]progress{"s": part(350), "t": part(350)}, 0},
	} {
		r := record{shipment: 2, state: c.state, segment: 100, raw: 450, booked: 5, freed: c.freed, counted: c.counted}
		if got := r.needless([]string{"s", "t"}); got != c.want {
			t.Errorf("%s: %d segments, want %d", name, got, c.want)
		}
	}
	if got := (record{shipment: 2, state: FileUploading, segment: 100, raw: 450, booked: 5}).needless(nil); got != 0 {
		t.Errorf("without subscribers: %d segments", got)
	}
}

func FuzzParseRecord(f *testing.F) {
	f.Add("ship", "1", "ship:s", "1", "4190208", "1000")
	f.Add("ship:", "1", "head", "\x10", "1", strconv.Itoa(math.MaxInt64))
	f.Add("admitted", strconv.Itoa(math.MaxInt64), "tail:s", "1", "-1", "-1")
	f.Add("booked", "9223372036854775807", "resume:s", "-9223372036854775808", "9223372036854775807", "9223372036854775807")
	f.Add("ship", "1", "state", "uploaded", "4611686018427387904", "9223372036854775807")
	f.Fuzz(func(t *testing.T, field1, value1, field2, value2, segment, upload string) {
		r := parseRecord("id", map[string]string{"segment": segment, "upload": upload, "part:s": "1", field1: value1, field2: value2})
		if r.shipment < 0 || r.size < 0 || r.base < 0 || r.raw < 0 || r.unit < 0 || r.booked < r.freed || r.freed < 0 || r.segment < 0 || r.upload < 0 {
			t.Fatalf("%+v", r)
		}
		for name, p := range r.counted {
			if p.shipment < 0 || p.part < 0 || p.commits < 0 || p.keep < 0 || p.resume < 0 || p.end < 0 {
				t.Fatalf("%s: %+v", name, p)
			}
		}
		if n := len(r.segmentKeys(channelKeys("skidway", "web"))); n > maxSegments {
			t.Fatalf("%d segments", n)
		}
	})
}

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

func TestNegativeFieldOfAConfigurationIsNamed(t *testing.T) {
	t.Parallel()
	ctx, db := t.Context(), handle.New(redistest.DB(t))
	channel, err := Open(ctx, db, "web")
	if err != nil {
		t.Fatal(err)
	}
	ship := func(c ShipperConfig) error {
		_, err := NewShipper(channel, &c).Ship(ctx, nil)
		return err
	}
	work := func(c WorkerConfig) error {
		_, err := NewWorker(ctx, channel, "s", &Counting{}, &c)
		return err
	}
	batch := func(c BatchConfig) error {
		_, err := NewBatch(db, &Counting{}, &c).Run(ctx, nil)
		return err
	}
	for _, c := range []struct {
		field string
		err   error
	}{
		{"Lease", ship(ShipperConfig{Lease: -1})},
		{"Lease", NewShipper(channel, &ShipperConfig{Lease: -1}).Follow(ctx, nil)},
		{"Lease", work(WorkerConfig{Lease: -1})},
		{"Workers", work(WorkerConfig{Workers: -1})},
		{"Workers", batch(BatchConfig{Workers: -1})},
		{"Window", batch(BatchConfig{Window: -1})},
	} {
		var invalid *ConfigError
		if !errors.As(c.err, &invalid) || invalid.Field != c.field {
			t.Errorf("%v, want a ConfigError for %s", c.err, c.field)
		}
	}
	if subscribers, err := channel.Subscribers(ctx); err != nil || len(subscribers) > 0 {
		t.Errorf("subscribers %v, %v", subscribers, err)
	}
}

// The upload of a file was abandoned before its first commit, and meanwhile another one with its head was counted
// further than it is long.
func TestFileOfTheSameSizeIsChosenWhereNoEndingIsKnown(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.log")
	if err := os.WriteFile(path, []byte("8.8.8.8 2026-11-01 x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	src, err := stream.OpenSource(path, stream.Decoding{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	const far = 1 << 20
	longer := record{id: "longer", packed: stream.Plain, size: far, counted: map[string]progress{"s": {resume: far, ending: stream.EndingOf(far, []byte("x"))}}}
	own := record{id: "own", packed: stream.Plain, size: src.Size, state: FileAbandoned}
	for _, matches := range [][]record{{longer, own}, {own, longer}} {
		if known, _, err := choose(t.Context(), src, matches, []string{"s"}); err != nil || known == nil || known.id != "own" {
			t.Errorf("%+v, %v", known, err)
		}
	}
}
