package cuts

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"
)

// A Table has the counts by some dimensions, of a range of days.
type Table struct {
	By       []string // the columns of the dimensions: "day", "path"
	Names    []string // the names of the dimensions: "day", "path:2"
	Measures []Measure
	From, To string // the days that were asked for, or the first and the last one that were counted; empty: none were
	Rows     []Row  // sorted by their values, in the order of the columns
	Total    Counts

	// BeforeFrom and BeforeTo are the period with which the rows are compared, of as many days,
	// and TotalBefore is its sum. They are empty, and nil, without [Query].Compare.
	BeforeFrom, BeforeTo string
	TotalBefore          *Counts

	// HasVisitors is whether Counts.Visitors is known.
	HasVisitors bool

	Cut int // index of the cut that was counted in Settings.Cuts

	// Folded is the number of cells of these days that were moved into [Other], because there
	// were more than [Settings].MaxCells.
	Folded int64
}

// A Row is one line of a Table.
type Row struct {
	Values []string // one for each of the columns By
	Counts
	AtLeast bool    // lines that belong to it may have been moved into [Other]
	Before  *Counts // of the period before; nil without [Query].Compare

	BeforeAtLeast bool // as AtLeast, of the period before
}

// A Figure is a column of numbers of a table.
type Figure struct {
	Name  string                      // "requests", "duration_p50"
	Value func(*Counts) (int64, bool) // false: it is not known
}

// VisitorsFigure is the name of the column of visitors, which are estimates.
const VisitorsFigure = "visitors"

// Figures returns the columns of numbers, in the order of the measures.
func (t *Table) Figures() (list []Figure) {
	for _, m := range t.Measures {
		switch m {
		case Requests:
			list = append(list, Figure{"requests", func(c *Counts) (int64, bool) { return c.Requests, true }})
		case Bytes:
			list = append(list, Figure{"bytes", func(c *Counts) (int64, bool) { return c.Bytes, true }})
		case Duration:
			list = append(list, Figure{"duration_count", func(c *Counts) (int64, bool) { return c.Durations.Count(), true }})
			for _, percent := range []int{50, 95, 99} {
				list = append(list, Figure{"duration_p" + strconv.Itoa(percent), func(c *Counts) (int64, bool) {
					bound, known, _ := c.Durations.Percentile(percent)
					return bound.Milliseconds(), known
				}})
			}
		}
	}
	if t.HasVisitors {
		list = append(list, Figure{VisitorsFigure, func(c *Counts) (int64, bool) { return c.Visitors, true }})
	}
	return list
}

// Counts are the numbers of a row. Those that are not measured are zero.
type Counts struct {
	Requests  int64
	Bytes     int64
	Durations Histogram
	Visitors  int64 // different pairs of address and agent that are no crawlers: an estimate with a standard error of 0.81 %
}

func (c *Counts) add(series Series, n int64) {
	switch series {
	case requestSeries:
		c.Requests += n
	case byteSeries:
		c.Bytes += n
	default:
		if bucket := bucketOf(series); bucket >= 0 {
			c.Durations[bucket] += n
		}
	}
}

func (c *Counts) isZero() bool { return *c == Counts{} }

// A Histogram has the number of requests by their duration. The bucket i is that of durations
// above bound i−1, up to bound i; the last one has no bound.
type Histogram [len(Bounds) + 1]int64

// Bounds are the upper bounds of the buckets of a Histogram.
var Bounds = [...]time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond,
	50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, 60 * time.Second,
}

// bucket returns the bucket of a duration.
func bucket(d time.Duration) int {
	i, _ := slices.BinarySearch(Bounds[:], d)
	return i
}

// bucketSeries returns the series of a bucket: "d" and its number.
func bucketSeries(bucket int) Series { return Series("d" + strconv.Itoa(bucket)) }

// bucketOf returns the bucket of a series, -1 if it is that of none.
func bucketOf(series Series) int {
	for i := range len(Histogram{}) {
		if series == bucketSeries(i) {
			return i
		}
	}
	return -1
}

// Count returns the number of requests with a duration.
func (h *Histogram) Count() (n int64) {
	for _, count := range h {
		n += count
	}
	return n
}

// Percentile returns the upper bound of the bucket that holds a percentile, from 1 to 100. It is
// not known if there are no requests, or if it is in the last bucket; longer reports that.
func (h *Histogram) Percentile(percent int) (bound time.Duration, known, longer bool) {
	count := h.Count()
	if count <= 0 {
		return 0, false, false
	}
	rank := int64(math.Ceil(float64(count) * float64(percent) / 100))
	for i, n := range h[:len(Bounds)] {
		if rank -= n; rank <= 0 {
			return Bounds[i], true, false
		}
	}
	return 0, false, true
}

// Change returns by how many percent a number is higher than the one before. It is false if that
// was zero.
func Change(n, before int64) (percent float64, ok bool) {
	if before == 0 {
		return 0, false
	}
	return math.Round(1000*float64(n-before)/float64(before))/10 + 0, true // + 0 makes -0 of it 0
}

// isTime reports whether a column has times.
func isTime(column string) bool {
	return slices.Contains(kindNames[:Hour+1], column)
}

// Top returns the n rows with the most requests, the highest first; if the first column has
// times, of each of these. It returns all rows, in their order, if n is zero. Rows are not
// changed.
func (t *Table) Top(n int) []Row {
	if n == 0 {
		return t.Rows
	}
	group := func(r Row) string {
		if len(t.By) > 0 && isTime(t.By[0]) {
			return r.Values[0]
		}
		return ""
	}
	rows := slices.Clone(t.Rows)
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(group(a), group(b)), cmp.Compare(b.Requests, a.Requests), slices.Compare(a.Values, b.Values))
	})
	last, taken := "", 0
	return slices.DeleteFunc(rows, func(r Row) bool {
		if g := group(r); g != last {
			last, taken = g, 0
		}
		taken++
		return taken > n
	})
}
