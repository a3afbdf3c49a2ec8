package hyperloglog_test

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"skidway/internal/hyperloglog"
	"skidway/internal/redistest"
)

func sketchOf(random *rand.Rand, n int) *hyperloglog.Sketch {
	s := new(hyperloglog.Sketch)
	for range n {
		s.Add(random.Uint64())
	}
	return s
}

// Redis counts and merges what Encode writes, and Parse reads what Redis writes.
func TestSketchesAreThoseOfRedis(t *testing.T) {
	t.Parallel()
	db, embedded := redistest.DB(t), redistest.Open(t, "embedded:")
	ctx, random := t.Context(), rand.New(rand.NewPCG(1, 2))
	check := func(key string, s *hyperloglog.Sketch) {
		t.Helper()
		if n, err := db.PFCount(ctx, key).Result(); err != nil || n != s.Count() {
			t.Fatalf("%s: PFCOUNT %d, Count %d, %v", key, n, s.Count(), err)
		}
		text, err := db.Get(ctx, key).Bytes()
		parsed, bad := hyperloglog.Parse(text)
		if err != nil || bad != nil || string(parsed.Encode()) != string(s.Encode()) {
			t.Fatalf("%s is parsed as another sketch: %v", key, bad)
		}
	}
	union := new(hyperloglog.Sketch)
	for _, n := range []int{0, 1, 7, 100, 600, 1000, 5000, 100_000} {
		s := sketchOf(random, n)
		if err := db.Set(ctx, "one", s.Encode(), 0).Err(); err != nil {
			t.Fatal(err)
		}
		check("one", s)
		if got := float64(s.Count()); math.Abs(got-float64(n)) > 4*0.0081*float64(n)+1 {
			t.Errorf("%d members are estimated as %v", n, got)
		}
		union.Merge(s)
		for range 2 {
			if err := db.PFMerge(ctx, "union", "one").Err(); err != nil {
				t.Fatal(err)
			}
		}
		check("union", union)
		if err := errors.Join(embedded.Set(ctx, "one", s.Encode(), 0).Err(), embedded.PFMerge(ctx, "union", "one").Err()); err != nil {
			t.Fatal(err)
		}
		if text := embedded.Get(ctx, "union").Val(); text != string(union.Encode()) {
			t.Fatalf("the embedded server has another union, of %d bytes", len(text))
		}
	}
	high := new(hyperloglog.Sketch)
	high.Add(1 << 60) // more zeros than the sparse format can hold
	high.Add(5)       // only zeros
	if err := db.Set(ctx, "high", high.Encode(), 0).Err(); err != nil {
		t.Fatal(err)
	}
	check("high", high)
	for i := range 3000 {
		text := binary.LittleEndian.AppendUint64(nil, uint64(i))
		if err := db.PFAdd(ctx, "redis", text).Err(); err != nil {
			t.Fatal(err)
		}
		if i%1000 == 400 {
			text, _ := db.Get(ctx, "redis").Bytes()
			s, err := hyperloglog.Parse(text)
			if err != nil || s.Count() != db.PFCount(ctx, "redis").Val() {
				t.Fatalf("%d: %v", i, err)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 10, 3000} {
		f.Add(sketchOf(random, n).Encode())
	}
	f.Add([]byte("HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x7f"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := hyperloglog.Parse(text)
		if err != nil {
			return
		}
		again, err := hyperloglog.Parse(s.Encode())
		if err != nil || again.Count() != s.Count() {
			t.Fatalf("%d, %v", s.Count(), err)
		}
	})
}

func TestMain(m *testing.M) { redistest.Main(m) }
