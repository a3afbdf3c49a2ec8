package cuts

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Settings are what is counted in which cells. They are a part of the settings of a subscriber.
type Settings struct {
	Cuts     []Cut
	Measures []Measure
	MaxCells int         // of one day and cut
	Keep     int         // days that are kept, today included; 0: all
	Where    *LineFilter // selects the lines that are counted; nil: all
	Zone     string      // of days and hours; empty: that of each line
	LogZone  string      // of times that lines have without one; empty: as written
	Visitors Cut         // by what visitors are counted, day or day and country; nil: they are not
}

// DefaultMaxCells is the number of cells of one day and cut above which the smallest ones are
// moved into [Other].
const DefaultMaxCells = 100_000

// MinMaxCells is the least bound of the cells of one day and cut.
const MinMaxCells = 100

// AsWritten is the time zone, in the text of settings, of days as each line has them.
const AsWritten = "as-written"

// settingsName begins the text of settings.
const settingsName = "country-day"

// whereKey is before the filter in the text of settings, which is to the end of the text.
const whereKey = " where="

// String returns the settings as text, which [ParseSettings] parses. Defaults are left out, but
// for the cuts.
func (s Settings) String() string { return s.With("") }

// With returns the text of the settings with words of the form KEY=VALUE that say how lines are
// read, before the filter. [ParseSettings] ignores these words.
func (s Settings) With(reading string) string {
	words := []string{settingsName}
	for _, cut := range s.Cuts {
		words = append(words, "by="+cut.String())
	}
	if len(s.Measures) > 1 {
		names := make([]string, len(s.Measures))
		for i, m := range s.Measures {
			names[i] = string(m)
		}
		words = append(words, "measure="+strings.Join(names, ","))
	}
	if s.MaxCells != DefaultMaxCells {
		words = append(words, "max-cells="+strconv.Itoa(s.MaxCells))
	}
	if s.Keep > 0 {
		words = append(words, "keep="+strconv.Itoa(s.Keep)+"d")
	}
	if s.Visitors != nil {
		words = append(words, "visitors="+s.Visitors.String())
	}
	if reading != "" {
		words = append(words, reading)
	}
	text := strings.Join(words, " ")
	if s.Where != nil {
		text += whereKey + s.Where.String()
	}
	return text
}

// ParseSettings parses the text of the settings of a subscriber, which begins with that of
// [Settings]. It reports false for the settings of another aggregation.
func ParseSettings(text string) (s Settings, ok bool) {
	s.MaxCells, s.Measures = DefaultMaxCells, []Measure{Requests}
	text, where, _ := strings.Cut(text, whereKey)
	var err error
	if s.Where, err = ParseLineFilter(where); err != nil {
		return s, false
	}
	reading := false
	for i, word := range strings.Fields(text) {
		key, value, _ := strings.Cut(word, "=")
		switch {
		case i == 0:
			if word != settingsName {
				return s, false
			}
		case key == "tz" && value != AsWritten:
			s.Zone = value
		case key == "log-tz":
			s.LogZone = value
		case reading:
		case key == "by":
			var cut Cut
			cut, err = ParseCut(strings.Split(value, ","))
			s.Cuts = append(s.Cuts, cut)
		case key == "measure":
			s.Measures, err = ParseMeasures(strings.Split(value, ","))
		case key == "visitors":
			s.Visitors, err = ParseVisitors(strings.Split(value, ","))
		case key == "max-cells":
			s.MaxCells, err = strconv.Atoi(value)
		case key == "keep":
			s.Keep, err = strconv.Atoi(strings.TrimSuffix(value, "d"))
		default: // what follows says how lines are read
			reading = true
		}
		if err != nil {
			return s, false
		}
	}
	return s, len(s.Cuts) > 0
}

// zone returns the time zone of days and hours, nil if it is that of each line.
func (s Settings) zone() *time.Location {
	if s.Zone == "" {
		return nil
	}
	zone, _ := time.LoadLocation(s.Zone) // nil for one that is not in the database of this machine
	return zone
}

// Oldest returns the first of the days that are kept at a time, in the zone of the settings, or else
// in UTC; empty if all are kept.
func (s Settings) Oldest(now time.Time) string {
	if s.Keep <= 0 {
		return ""
	}
	return now.In(cmp.Or(s.zone(), time.UTC)).AddDate(0, 0, 1-s.Keep).Format(time.DateOnly)
}

// Has reports whether one of the cuts has a dimension of one of some kinds.
func (s Settings) Has(kinds ...Kind) bool {
	return slices.ContainsFunc(s.Cuts, func(c Cut) bool {
		return slices.ContainsFunc(c, func(d Dimension) bool { return slices.Contains(kinds, d.Kind) })
	})
}

// Use reports whether one of the cuts, or the filter, has a dimension of one of some kinds.
func (s Settings) Use(kinds ...Kind) bool { return s.Has(kinds...) || s.Where.Uses(kinds...) }

// ParseVisitors parses by what visitors are counted: day, or day and country. It returns nil for no
// names.
func ParseVisitors(names []string) (Cut, error) {
	cut, err := ParseCut(names)
	if text := cut.String(); err != nil || text != "" && text != "day" && text != "day,country" {
		return nil, fmt.Errorf("visitors by %s: want day or day,country", strings.Join(names, ","))
	}
	return cut, nil
}

// VisitorsByCountry reports whether visitors are counted by country, too.
func (s Settings) VisitorsByCountry() bool {
	return slices.Contains(s.Visitors, Dimension{Kind: Country})
}

// HasVisitors reports whether visitors by some dimensions are known.
func (s Settings) HasVisitors(by Cut) bool {
	return s.Visitors != nil && s.Visitors.covers(by)
}

// Places are the kinds of dimensions for which a country database is read.
func Places() []Kind { return []Kind{Country, Continent, ASN} }

// UsePlaces reports whether one of the cuts, or the filter, has a dimension for which a country
// database is read.
func (s Settings) UsePlaces() bool { return s.Use(Places()...) || s.VisitorsByCountry() }

// HasCrawlers reports whether one of the cuts tells crawlers from people.
func (s Settings) HasCrawlers() bool { return s.Has(Crawler, CrawlerClass) }

// Overview returns the dimensions of up to three small tables that can be made of the cuts: countries,
// status and crawlers, as far as they were counted; if none was, the last dimension of the first cut.
func (s Settings) Overview() (by [][]string) {
	for _, kinds := range [][]Kind{{Country, Continent}, {Status, StatusClass}, {Crawler, CrawlerClass}} {
		if i := slices.IndexFunc(kinds, func(k Kind) bool { return s.Has(k) }); i >= 0 {
			by = append(by, []string{kinds[i].String()})
		}
	}
	if len(by) == 0 {
		first := s.Cuts[0]
		by = [][]string{{first[len(first)-1].String()}}
	}
	return by
}

// WithCrawlers returns the first cut with the dimension that tells crawlers from people; empty if a cut
// has one, or there is none.
func (s Settings) WithCrawlers() string {
	if len(s.Cuts) == 0 || s.HasCrawlers() {
		return ""
	}
	return s.Cuts[0].String() + "," + Crawler.String()
}

// IsPlain reports whether only requests are counted, in one cut, by times of whole days, by
// country or by both, and all lines.
func (s Settings) IsPlain() bool {
	stored := s.Cuts[0].stored()
	return s.Where == nil && s.Visitors == nil && len(s.Cuts) == 1 && len(s.Measures) == 1 && (len(stored) == 0 || len(stored) == 1 && stored[0].Kind == Country)
}
