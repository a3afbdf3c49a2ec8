package logs

import (
	"bufio"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/cuts"
)

//go:embed page.html
var pageText string

// pageCountries is the number of countries with a column of their own unless --top
// is given. The others share one column.
const pageCountries = 10

// others is the heading of the column that the other countries share.
const others = "others"

// A page is a report as a web page without other files.
type page struct {
	Channel, Subscriber string
	Generated           time.Time
	Totals              []figure
	Heads               []string // of the columns of countries
	Days                []pageDay
	Builds              []string
	Attribution         string
	Problems            []problem
	Abandoned           []string
	Moving              bool
}

type figure struct{ Name, Value string }

type pageDay struct {
	Name  string
	Total string
	Cells []pageCell
}

// A pageCell is a number with a bar, in proportion to the highest number of the
// table.
type pageCell struct {
	Text  string
	Width int // in percent
}

func newPage(channel, subscriber string, r result, columns int) *page {
	t := r.tally
	p := &page{
		Channel: channel, Subscriber: subscriber, Generated: time.Now().UTC(),
		Totals: []figure{
			{"Lines", humanize.Comma(t.Lines)}, {"Counted", humanize.Comma(t.Counted)},
			{"Unknown country", humanize.Comma(t.Unknown)}, {"Unparsable", humanize.Comma(t.Unparsable)},
			{"Files", humanize.Comma(t.Files)}, {"In part", humanize.Comma(t.Partial)}, {"Failed", humanize.Comma(t.Failed)},
		},
		Builds: printable(buildNames(r.builds)), Attribution: attribution(r.builds),
		Abandoned: printable(r.abandoned), Moving: r.moving,
	}
	for _, bad := range r.problems {
		p.Problems = append(p.Problems, problem{cli.Printable(bad.File), cli.Printable(bad.Note), bad.missing})
	}
	if !r.settings.Has(cuts.Country) {
		p.Builds, p.Attribution = nil, ""
	}
	p.fill(r, cmp.Or(columns, pageCountries))
	return p
}

// printable returns texts without characters that would act in the page, such as those that
// change the direction of the text.
func printable(texts []string) []string {
	shown := make([]string, len(texts))
	for i, text := range texts {
		shown[i] = cli.Printable(text)
	}
	return shown
}

// fill sets the table of days and the countries with the most requests.
func (p *page) fill(r result, columns int) {
	members := map[string]int64{}
	days := map[string]map[string]int64{}
	t := r.tables[0]
	at, place := slices.Index(t.By, "day"), slices.Index(t.By, "country")
	for _, row := range t.Rows {
		day, member := "", ""
		if at >= 0 {
			day = row.Values[at]
		}
		if place >= 0 {
			member = row.Values[place]
		}
		members[member] += row.Requests
		if days[day] == nil {
			days[day] = map[string]int64{}
		}
		days[day][member] += row.Requests
	}
	if place >= 0 {
		p.Heads = highest(members, columns)
	}
	shown := slices.Clone(p.Heads)
	highestCount := int64(1)
	for _, counts := range days {
		fold(counts, p.Heads)
		for _, n := range counts {
			highestCount = max(highestCount, n)
		}
	}
	if len(shown) > 0 && len(shown) < len(members) {
		p.Heads = append(p.Heads, others)
	}
	for _, name := range slices.Sorted(maps.Keys(days)) {
		p.Days = append(p.Days, newPageDay(name, days[name], p.Heads, highestCount))
	}
}

// fold adds up the countries without a column.
func fold(counts map[string]int64, shown []string) {
	for member, n := range counts {
		if !slices.Contains(shown, member) && member != others {
			delete(counts, member)
			counts[others] += n
		}
	}
}

func newPageDay(name string, counts map[string]int64, heads []string, highestCount int64) pageDay {
	if name == "" {
		name = "All days"
	}
	day, total := pageDay{Name: name}, int64(0)
	for _, n := range counts {
		total += n
	}
	for _, head := range heads {
		n := counts[head]
		day.Cells = append(day.Cells, pageCell{humanize.Comma(n), int(100 * n / highestCount)})
	}
	day.Total = humanize.Comma(total)
	return day
}

// highest returns the n members with the most requests, highest first.
func highest(members map[string]int64, n int) []string {
	names := slices.Sorted(maps.Keys(members))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(members[b], members[a]) })
	return names[:min(n, len(names))]
}

// write writes the page under a temporary name and renames it, so that a reader
// never sees half of it.
func (p *page) write(path string) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = file.Close()
			_ = os.Remove(file.Name())
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	out := bufio.NewWriter(file)
	if err := p.render(out); err != nil {
		return err
	}
	if err := errors.Join(out.Flush(), file.Chmod(0o644), file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

func (p *page) render(out io.Writer) error {
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		return err
	}
	return t.Execute(out, p)
}
