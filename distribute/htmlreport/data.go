package htmlreport

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"html/template"
	"slices"
	"strings"
	"time"
)

// pageData is what the script of a page needs, beside the counts.
type pageData struct {
	First  string              `json:"first"` // day
	Days   int                 `json:"days"`
	From   int                 `json:"from"` // the days that are shown at first
	To     int                 `json:"to"`
	Weeks  []int               `json:"weeks"`  // the first days of weeks, of which none has days before From and others
	Values map[string][]string `json:"values"` // of each dimension
	Cubes  []cubeData          `json:"cubes"`
}

type cubeData struct {
	By     string   `json:"by"`
	List   string   `json:"list"`
	Dims   []string `json:"dims"`
	Rows   [][]int  `json:"rows"`   // indices of the values of each row
	Weekly int      `json:"weekly"` // rows from this one on have a count for each week
	Least  []int    `json:"least"`  // values of the list that may lack lines
}

// valueIndex has the values of each dimension in the order of their indices, which are those of
// the rows of tables.
type valueIndex map[string][]string

// index returns the index of a value, which it adds if it is new.
func (v valueIndex) index(dim, value string) int {
	i := slices.Index(v[dim], value)
	if i < 0 {
		i = len(v[dim])
		v[dim] = append(v[dim], value)
	}
	return i
}

// encode returns the data of a page for its script: the length of a JSON text, the text, and the
// counts of all rows, each as the difference from the one before: a signed varint, where a zero is
// followed by the number of further zeros. All of it is compressed, and written with 64 letters,
// none of which has a meaning in HTML. Countries behind the highest so many have a count for each
// week.
func encode(days calendar, all []*cube, values valueIndex, weekly int) template.HTML {
	data := pageData{
		First: days.first.Format(time.DateOnly), Days: days.n, From: days.shown.from, To: days.shown.to, Weeks: days.weeks(), Values: values,
	}
	var counts []byte
	for _, c := range all {
		d := c.data(values, weekly)
		for i, row := range c.Rows {
			line := row.Days
			if i >= d.Weekly {
				line = sumsFrom(line, data.Weeks)
			}
			counts = appendCounts(counts, line)
		}
		data.Cubes = append(data.Cubes, d)
	}
	text, _ := json.Marshal(data) // of strings and numbers
	var packed bytes.Buffer
	writer, _ := flate.NewWriter(&packed, flate.BestCompression)
	_, _ = writer.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(text)))) //nolint:gosec // a few thousand names
	_, _ = writer.Write(text)
	_, _ = writer.Write(counts)
	_ = writer.Close()
	return template.HTML(base64.RawURLEncoding.EncodeToString(packed.Bytes())) //nolint:gosec // letters, digits, - and _
}

func appendCounts(to []byte, line []int64) []byte {
	before := int64(0)
	for i := 0; i < len(line); i++ {
		to = binary.AppendVarint(to, line[i]-before)
		if line[i] == before {
			same := 0
			for i+1 < len(line) && line[i+1] == before {
				same, i = same+1, i+1
			}
			to = binary.AppendUvarint(to, uint64(same)) //nolint:gosec // not negative
		}
		before = line[i]
	}
	return to
}

// data returns the dimensions and rows of a cube, of whose countries those behind the highest so
// many are weekly.
func (c *cube) data(values valueIndex, weekly int) cubeData {
	d := cubeData{By: c.By, List: c.list(), Dims: append([]string{}, c.Dims...), Rows: [][]int{}, Weekly: len(c.Rows), Least: []int{}}
	rank := map[string]int{}
	for i, value := range c.ranked() {
		rank[value] = i
		if c.least[value] {
			d.Least = append(d.Least, values.index(d.List, value))
		}
	}
	for r, row := range c.Rows {
		places := make([]int, len(c.Dims))
		for i, value := range row.Values {
			places[i] = values.index(c.Dims[i], value)
		}
		d.Rows = append(d.Rows, places)
		if c.list() == "country" && rank[row.Values[0]] >= weekly {
			d.Weekly = min(d.Weekly, r)
		}
	}
	return d
}

// weeks returns the first days of weeks. That of the days that are shown at first begins one, too,
// so that their numbers are exact.
func (c calendar) weeks() (starts []int) {
	for i := range c.n {
		if i == 0 || i == c.shown.from || c.at(i).Weekday() == time.Monday {
			starts = append(starts, i)
		}
	}
	return starts
}

// sumsFrom adds up the numbers from each start to the one before the next.
func sumsFrom(line []int64, starts []int) []int64 {
	sums := make([]int64, len(starts))
	for i, start := range starts {
		end := len(line)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		for _, n := range line[start:end] {
			sums[i] += n
		}
	}
	return sums
}

// compact returns a script without indents and without lines that are comments.
func compact(script string) string {
	var short strings.Builder
	for line := range strings.Lines(script) {
		line = strings.TrimLeft(line, " \t")
		if !strings.HasPrefix(line, "//") && strings.TrimSpace(line) != "" {
			short.WriteString(line)
		}
	}
	return short.String()
}
