package distribute

import (
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"skidway/distribute/stream"
)

func TestRecordIsReadBack(t *testing.T) {
	t.Parallel()
	h := stream.Head("8.8.8.8 2026-11-01 a\n8.8.8.8")
	r := parseRecord("id", map[string]string{
		"name": "access.log", "ship": "3", "state": "done", "head": h.Fingerprint().Encode(), "codec": "gzip", "size": "1234",
		"by": "shipper", "base": "21", "raw": "42", "cost": "4096", "segment": "4190208", "upload": "1213", "admitted": "1793500000123",
		"ship:s": "2", "resume:s": "21", "end:s": "28", "tail:s": "1 0 0 1 7\n", "state:s": "minimal", "note:s": "partial",
		"ship:other": "3",
	})
	if r.id != "id" || r.name != "access.log" || r.shipment != 3 || r.state != done || r.codec != stream.Gzip || r.size != 1234 ||
		r.by != "shipper" || r.base != 21 || r.raw != 42 || r.cost != 4096 || r.segment != stream.SegmentSize || r.upload != 1213 {
		t.Errorf("%+v", r)
	}
	if r.admitted.UnixMilli() != 1793500000123 || !r.head.SameFile(h) || !r.inRedis() {
		t.Errorf("%+v", r)
	}
	want := progress{shipment: 2, resume: 21, end: 28, tail: "1 0 0 1 7\n", state: "minimal", note: "partial"}
	if len(r.counted) != 2 || r.counted["s"] != want || r.counted["other"] != (progress{shipment: 3}) {
		t.Errorf("%+v", r.counted)
	}
}

// numberFields are all fields that a number is expected in.
var numberFields = []string{"ship", "size", "base", "raw", "cost", "segment", "upload", "ship:s", "resume:s", "end:s"}

func TestMalformedNumberOfARecordIsZero(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " ", "-1", "1.5", "1e3", "0x10", "12 ", "99999999999999999999", "\xff"} {
		fields := map[string]string{"admitted": text}
		for _, field := range numberFields {
			fields[field] = text
		}
		r := parseRecord("id", fields)
		if r.shipment|r.size|r.base|r.raw|r.cost|r.segment|r.upload != 0 || r.counted["s"] != (progress{}) {
			t.Errorf("%q is read as a number: %+v", text, r)
		}
	}
}

func TestSegmentsOfARecordAreNamedOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		segment := rapid.Int64Range(stream.BlockSize, stream.SegmentSize).Draw(t, "segment")
		upload := rapid.Int64Range(0, 100*stream.SegmentSize).Draw(t, "upload")
		r := parseRecord("id", map[string]string{"ship": "1", "segment": strconv.FormatInt(segment, 10), "upload": strconv.FormatInt(upload, 10)})
		names := map[string]bool{}
		for _, name := range r.segmentKeys(channelKeys("skidway", "web")) {
			names[name] = true
		}
		if want := stream.SegmentCount(upload, segment); len(names) != want {
			t.Fatalf("%d names, want %d", len(names), want)
		}
	})
}

func FuzzParseRecord(f *testing.F) {
	f.Add("ship", "1", "ship:s", "1", "4190208", "1000")
	f.Add("ship:", "1", "head", "\x10", "1", strconv.Itoa(math.MaxInt64))
	f.Add("admitted", strconv.Itoa(math.MaxInt64), "tail:s", "1", "-1", "-1")
	f.Add("cost", "9223372036854775807", "resume:s", "-9223372036854775808", "9223372036854775807", "9223372036854775807")
	f.Add("ship", "1", "state", "uploaded", "4611686018427387904", "9223372036854775807")
	f.Fuzz(func(t *testing.T, field1, value1, field2, value2, segment, upload string) {
		r := parseRecord("id", map[string]string{"segment": segment, "upload": upload, "ship:s": "1", field1: value1, field2: value2})
		if r.shipment < 0 || r.size < 0 || r.base < 0 || r.raw < 0 || r.cost < 0 || r.segment < 0 || r.upload < 0 {
			t.Fatalf("%+v", r)
		}
		for name, p := range r.counted {
			if p.shipment < 0 || p.resume < 0 || p.end < 0 {
				t.Fatalf("%s: %+v", name, p)
			}
		}
		if n := len(r.segmentKeys(channelKeys("skidway", "web"))); n > maxSegments {
			t.Fatalf("%d segments", n)
		}
	})
}
