package dash

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	"skidway/distribute/worldmap"
	"skidway/ops/dash/internal/chart"
	"skidway/ops/dash/internal/words"
)

// A recorder keeps the live values of a page while it is drawn: those that [page.Val] returns, and the
// ids of rows. A nil one keeps nothing.
type recorder struct {
	values map[string]string
	rows   map[string][]string
}

func (r *recorder) set(key, text string) {
	if r != nil {
		r.values[key] = text
	}
}

// row records a row of a table by its id, in the order of the table.
func (r *recorder) row(table, id string) {
	if r != nil {
		r.rows[table] = append(r.rows[table], id)
	}
}

// A Value is a text of a page that the stream changes in place.
type Value struct {
	Key, Text string
	Class     string // of the element
}

// unknownRows leaves the rows of a table as they were: it is not known which there are now.
func (r *recorder) unknownRows(table string) {
	if r != nil {
		r.rows[table] = nil
	}
}

// since returns what has changed since an earlier drawing, nil for nothing.
func (r *recorder) since(last recorder) *event {
	changed := &event{map[string]string{}, map[string][]string{}}
	for key, text := range r.values {
		if before, known := last.values[key]; !known || before != text {
			changed.Values[key] = text
		}
	}
	for table, ids := range r.rows {
		if ids != nil && !slices.Equal(ids, last.rows[table]) {
			changed.Rows[table] = ids
		}
	}
	for table := range last.rows {
		if _, there := r.rows[table]; !there {
			changed.Rows[table] = []string{}
		}
	}
	if len(changed.Values) == 0 && len(changed.Rows) == 0 {
		return nil
	}
	return changed
}

// Val returns a value for the part "v". The key names the value on its page; values of the same
// key must be equal.
func (r *recorder) Val(key string, value any) Value {
	v := Value{Key: key, Text: words.Text(value)}
	if v.Text == "0" || v.Text == words.None {
		v.Class = "dim"
	}
	r.set(key, v.Text)
	return v
}

// LiveBadge returns a badge that the stream changes in place, with its shape and colour.
func (r *recorder) LiveBadge(key string, badge Badge) Badge {
	badge.Key = key
	r.set("badge "+key, badge.Class+"\n"+badge.Icon.Class+"\n"+badge.Icon.Href+"\n"+badge.Text)
	return badge
}

// liveShape returns an icon whose shape and colour the stream changes in place.
func (r *recorder) liveShape(key string, icon Icon) Icon {
	icon.Key = key
	r.set("shape "+key, icon.Class+"\n"+icon.Href+"\n"+icon.Label)
	return icon
}

// LiveBar returns a bar whose width, colour and label the stream changes in place.
func (r *recorder) LiveBar(key string, bar chart.Bar) chart.Bar {
	bar.Key = key
	r.set("width "+key, bar.Width)
	r.set("k bar "+key, bar.Class+"\n"+bar.Label)
	if bar.Label != "" {
		r.set("label bar "+key, bar.Label)
	}
	return bar
}

// liveBars returns bars of a table that the stream changes in place.
func (r *recorder) liveBars(key string, bars *chart.Bars) *chart.Bars {
	bars.Key = key
	r.set("label bars "+key, bars.Label)
	r.set("path all "+key, bars.All)
	r.set("path bad "+key, bars.Bad)
	return bars
}

// liveLane returns a lane whose parts the stream changes in place. The keys of its parts are those of the lane
// and their own.
func (r *recorder) liveLane(key string, lane *chart.Lane) *chart.Lane {
	lane.Key = key
	r.set("label lane "+key, lane.Label)
	for i := range lane.Parts {
		part := &lane.Parts[i]
		r.set("path "+key+" "+part.Key, part.Path)
		r.set("k "+key+" "+part.Key, part.Class+"\n"+part.Title)
	}
	return lane
}

// Rest returns a value for the part "rest": a digest of what the page shows and can't change in place. When it
// changes, the page says that a load shows something new.
func (r *recorder) Rest(key string, shown ...any) Value {
	digest := fnv.New64a()
	fmt.Fprintf(digest, "%q", shown)
	return r.Val("rest "+key, strconv.FormatUint(digest.Sum64(), 36))
}

// liveSpark returns a line of a table that the stream changes in place.
func (r *recorder) liveSpark(key string, spark *chart.Spark) *chart.Spark {
	if spark != nil {
		spark.Key = key
		r.set("spark "+key, spark.Path+"\n"+spark.X+"\n"+spark.Y+"\n"+spark.Label)
	}
	return spark
}

// LiveTime returns a time that the stream changes in place.
func (r *recorder) LiveTime(key string, s Stamp) Stamp {
	s.Key = key
	text := s.Text
	if s.Age != "" {
		text = "" // the script counts on
	}
	r.set("time "+key, s.ISO+"\n"+s.Title+"\n"+s.Age+"\n"+text)
	return s
}

// livePlot returns a plot whose line, area and labels the stream changes in place.
func (r *recorder) livePlot(key string, plot *chart.Plot) *chart.Plot {
	plot.Key = key
	r.set("label "+key, plot.Label)
	for class, path := range map[string]string{"l": plot.Line, "a": plot.Area, "o": plot.Other, "e": plot.Bars} {
		r.set("path "+key+" "+class, path)
	}
	for axis, labels := range map[string][]string{"y": plot.Y, "s": plot.StripY, "x": plot.X} {
		for i, label := range labels {
			r.set(key+" "+axis+strconv.Itoa(i), label)
		}
	}
	return plot
}

// livePlaces lets the stream change the colours and titles of a map in place.
func (r *recorder) livePlaces(places []worldmap.Place) {
	for _, place := range places {
		r.set("k "+place.Code, fmt.Sprintf("c%d\n%s", place.Class, place.Title))
	}
}

// Bad returns a value that is shown as a problem if bad is true. The stream changes that too.
func (r *recorder) Bad(key string, value any, bad bool) Value {
	v, class := r.Val(key, value), ""
	if bad {
		class = "bad"
		v.Class = class
	}
	r.set("class "+key, class)
	return v
}
