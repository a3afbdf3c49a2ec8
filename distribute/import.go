package distribute

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"skidway/distribute/cuts"
)

// A SourceError is the error for an export that can't be imported: it is damaged, not whole, or its
// numbers do not add up.
type SourceError struct {
	Line   int
	Reason string
}

func (e *SourceError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// A DifferentSourceError is the error for a source whose counts can't be added to those of the
// subscriber, because they were counted in another way.
type DifferentSourceError struct{ Difference string }

func (e *DifferentSourceError) Error() string { return e.Difference }

// Import adds an export of another subscriber to the reports of this one, as a source. It replaces
// what they had of this source before; an export of the same commit or of an earlier one changes
// nothing, and changed is false. A subscriber that does not exist is created with the settings of
// the source. Otherwise the source needs the same cuts, measures, filter and time zones, else the
// error is a [DifferentSourceError]. Reports have all of an import or nothing of it; one that was
// interrupted or refused leaves no counts, and a subscriber that it created stays. Days that the
// subscriber does not keep expire.
//
// What the export says is checked: numbers and names, and that the lines of each day are those in its
// cells. The error is a [SourceError] otherwise. Import must not wait for longer than 10 minutes for
// the next lines.
func (c *Channel) Import(ctx context.Context, subscriber string, in io.Reader) (source Source, changed bool, err error) {
	source, changed, err = importSource(ctx, c, subscriber, in)
	if err != nil {
		return source, false, fmt.Errorf("import into subscriber %q of channel %q: %w", subscriber, c.name, err)
	}
	return source, changed, nil
}

func importSource(ctx context.Context, c *Channel, subscriber string, in io.Reader) (source Source, changed bool, err error) {
	reader := newExportReader(in)
	head, err := reader.readHead()
	if err != nil {
		return source, false, err
	}
	i := &importer{totals: c.totals(subscriber), id: rand.Text(), source: head.source()}
	i.settings, err = c.settings(ctx, subscriber)
	if errors.Is(err, ErrNoSubscriber) || err == nil && i.settings == "" {
		i.settings, err = head.Settings, c.Subscribe(ctx, subscriber, head.Settings)
	}
	if err != nil {
		return i.source, false, err
	}
	if err = i.tidy(ctx); err != nil { // completes a reset that was interrupted, which would delete this import later
		return i.source, false, err
	}
	if i.epoch, err = c.epoch(ctx, subscriber); err != nil {
		return i.source, false, err
	}
	own, ok := cuts.ParseSettings(i.settings)
	if !ok {
		return i.source, false, errors.New("it does not count by dimensions")
	}
	if difference := own.Difference(reader.settings); difference != "" {
		return i.source, false, &DifferentSourceError{difference}
	}
	id, err := c.sourceID(ctx, subscriber)
	if err != nil {
		return i.source, false, err
	}
	if id == i.source.ID {
		return i.source, false, &DifferentSourceError{"it is an export of this subscriber, whose lines would count twice"}
	}
	begun, err := i.begin(ctx, head.fields())
	if err != nil || !begun {
		return i.source, false, err
	}
	err = reader.readCells(func(cells exportCells, day string) error {
		return i.add(ctx, cells.Group, day, cells.Moved, cells.Cells)
	})
	if err == nil {
		changed, err = i.switchOver(ctx)
	}
	if err != nil || !changed {
		return i.source, false, errors.Join(err, i.giveUp(ctx))
	}
	return i.source, true, i.tidy(ctx)
}

func (h *exportHead) source() Source {
	counted := parseSubscriber("", "", h.texts())
	return Source{ID: h.Source, Epoch: h.Epoch, Commit: h.Commit, Tally: counted.Tally}
}

// texts returns the fields that a subscriber has for the sums.
func (h *exportHead) texts() map[string]string {
	fields := map[string]string{}
	for field, n := range h.Sums {
		fields[field] = fmt.Sprint(n)
	}
	for build, n := range h.Builds {
		fields[buildField+build] = fmt.Sprint(n)
	}
	if h.Oldest != "" {
		fields["oldest"] = h.Oldest
	}
	return fields
}

// fields returns them as arguments of a script.
func (h *exportHead) fields() (fields []any) {
	texts := h.texts()
	for _, field := range slices.Sorted(maps.Keys(texts)) {
		fields = append(fields, field, texts[field])
	}
	return fields
}

// Bounds of an export.
const (
	maxExportLine  = 1 << 20 // bytes
	maxGroupCells  = 1 << 20
	maxBuilds      = 100
	maxExportTexts = 64 << 10 // bytes of the settings
)

// An exportReader reads and checks an export. Its memory is bounded by the number of days.
type exportReader struct {
	lines    *bufio.Scanner
	line     int
	head     exportHead
	settings cuts.Settings
	accounts map[string]*cuts.Account // by day
	requests map[dayCut]int64
	sum      cuts.Account

	group   string // the last one
	member  string // its last one
	moved   int64
	inGroup int
	cells   int64
}

type dayCut struct {
	day string
	cut int
}

func newExportReader(in io.Reader) *exportReader {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxExportLine)
	return &exportReader{lines: lines, accounts: map[string]*cuts.Account{}, requests: map[dayCut]int64{}}
}

func (r *exportReader) refuse(format string, values ...any) error {
	return &SourceError{r.line, fmt.Sprintf(format, values...)}
}

// next reads a line.
func (r *exportReader) next() ([]byte, error) {
	r.line++
	if !r.lines.Scan() {
		switch err := r.lines.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			return nil, r.refuse("it is longer than 1 MiB")
		case err != nil:
			return nil, err
		}
		return nil, r.refuse("the export is not whole: its last line is missing")
	}
	return r.lines.Bytes(), nil
}

// parse parses a line into a value, which has all of its fields.
func (r *exportReader) parse(line []byte, value any) error {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(value); err != nil {
		return r.refuse("it is not of an export: %.100s", err)
	}
	if decoder.More() {
		return r.refuse("it has more than one value")
	}
	return nil
}

// readHead reads and checks the first line.
func (r *exportReader) readHead() (*exportHead, error) {
	line, err := r.next()
	if err != nil {
		return nil, err
	}
	h := &r.head
	var version struct {
		Format  string
		Version int
	}
	switch err := json.Unmarshal(line, &version); {
	case err != nil || version.Format != exportFormat:
		return nil, r.refuse("it does not begin an export of 'skidway logs export'")
	case version.Version != exportVersion:
		return nil, r.refuse("the export has version %d, and this Skidway reads version %d", version.Version, exportVersion)
	}
	if err := r.parse(line, h); err != nil {
		return nil, err
	}
	switch {
	case !sourcePattern.MatchString(h.Source):
		return nil, r.refuse("%.80q is not the name of a source", h.Source)
	case h.Epoch < 0 || h.Epoch > maxNumber || h.Commit < 0 || h.Commit > maxNumber:
		return nil, r.refuse("epoch %d, commit %d: out of range", h.Epoch, h.Commit)
	case h.Oldest != "" && !isDay(h.Oldest):
		return nil, r.refuse("oldest day %.40q is not a day", h.Oldest)
	case len(h.Settings) > maxExportTexts:
		return nil, r.refuse("the settings are too long")
	case len(h.Builds) > maxBuilds:
		return nil, r.refuse("it has %d country databases, and at most %d are possible", len(h.Builds), maxBuilds)
	}
	var ok bool
	if r.settings, ok = cuts.ParseSettings(h.Settings); !ok || len(r.settings.Cuts) > cuts.MaxCuts {
		return nil, r.refuse("the settings are not those of counts: %.100q", h.Settings)
	}
	return h, r.checkSums()
}

// checkSums checks the numbers of lines.
func (r *exportReader) checkSums() error {
	for field, n := range r.head.Sums {
		if !slices.Contains(sums, field) || n < 0 || n > maxNumber {
			return r.refuse("%.40q: %d is not a number of an export", field, n)
		}
	}
	for build, n := range r.head.Builds {
		if build == "" || len(build) > 256 || !utf8.ValidString(build) || strings.ContainsFunc(build, func(c rune) bool { return c < ' ' }) || n < 0 || n > maxNumber {
			return r.refuse("country database %.40q: %d lines: it is none", build, n)
		}
	}
	t := r.head.source().Tally
	if t.Lines != t.Counted+t.Unknown+t.Filtered+t.Expired+t.Unparsable || t.Private > t.Unknown || t.Crawlers > t.Counted+t.Unknown {
		return r.refuse("its lines do not add up: %v", r.head.Sums)
	}
	return nil
}

func isDay(text string) bool {
	_, err := time.Parse(time.DateOnly, text)
	return err == nil
}

// readCells reads and checks the other lines, and calls add with each of them and its day, which is
// empty for accounts. An error of add ends it.
func (r *exportReader) readCells(add func(cells exportCells, day string) error) error {
	for {
		line, err := r.next()
		if err != nil {
			return err
		}
		if bytes.HasPrefix(line, []byte(`{"end"`)) {
			return r.readEnd(line)
		}
		var cells exportCells
		if err := r.parse(line, &cells); err != nil {
			return err
		}
		day, err := r.checkCells(cells)
		if err != nil {
			return err
		}
		if err := add(cells, day); err != nil {
			return err
		}
	}
}

// checkCells checks one line of cells, and returns its day.
func (r *exportReader) checkCells(c exportCells) (day string, err error) {
	if len(c.Cells) == 0 || len(c.Cells) > cellBatch || c.Moved < 0 || c.Moved > maxNumber {
		return "", r.refuse("%d cells, %d moved: want up to %d", len(c.Cells), c.Moved, cellBatch)
	}
	if err := r.checkOrder(c); err != nil {
		return "", err
	}
	g, isGroup := cuts.ParseGroup(c.Group)
	switch {
	case c.Group == cuts.AccountGroup:
	case !isGroup:
		return "", r.refuse("%.60q is not the group of a day", c.Group)
	case r.accounts[g.Day] == nil:
		return "", r.refuse("the accounts have no lines of %s", g.Day)
	default:
		if err := r.settings.CheckGroup(g); err != nil {
			return "", r.refuse("%s", err)
		}
	}
	for member, n := range c.Cells {
		if n <= 0 || n > maxNumber {
			return "", r.refuse("%.60q: %d is not the number of a cell", member, n)
		}
		if c.Group == cuts.AccountGroup {
			err = r.addAccount(member, n)
		} else if err = r.settings.CheckMember(g, member); err != nil {
			err = r.refuse("%s", err)
		}
		if err != nil {
			return "", err
		}
		if isGroup && g.Series == "" {
			r.requests[dayCut{g.Day, g.Cut}] += n
		}
	}
	r.cells += int64(len(c.Cells))
	return g.Day, nil
}

// checkOrder checks that groups and members are in order, so that none comes twice.
func (r *exportReader) checkOrder(c exportCells) error {
	members := slices.Sorted(maps.Keys(c.Cells))
	switch {
	case c.Group == r.group && r.line > 2:
		if r.inGroup += len(members); members[0] <= r.member || r.inGroup > maxGroupCells || c.Moved != r.moved {
			return r.refuse("%.60q is not in order, or has too many cells", c.Group)
		}
	case c.Group == cuts.AccountGroup && r.line > 2, c.Group < r.group && r.group != cuts.AccountGroup:
		return r.refuse("%.60q is not in order", c.Group)
	default:
		r.inGroup = len(members)
	}
	r.group, r.member, r.moved = c.Group, members[len(members)-1], c.Moved
	return nil
}

// addAccount adds a cell of the accounts.
func (r *exportReader) addAccount(member string, n int64) error {
	day, name, _ := strings.Cut(member, " ")
	if !isDay(day) || day < r.head.Oldest || !slices.Contains(cuts.Accounts[:], name) {
		return r.refuse("%.60q is not a day and the name of a number", member)
	}
	if r.accounts[day] == nil {
		if len(r.accounts) == MaxDays {
			return r.refuse("more than %d days", MaxDays)
		}
		r.accounts[day] = new(cuts.Account)
	}
	r.accounts[day].Add(name, n)
	r.sum.Add(name, n)
	return nil
}

// readEnd reads the last line, and checks whether all numbers add up.
func (r *exportReader) readEnd(line []byte) error {
	var end exportEnd
	if err := r.parse(line, &end); err != nil {
		return err
	}
	if !end.End || end.Cells != r.cells {
		return r.refuse("the export is not whole: it has %d cells of %d", r.cells, end.Cells)
	}
	t := r.head.source().Tally
	if r.sum != (cuts.Account{Counted: t.Counted, Unknown: t.Unknown, Private: t.Private, Crawlers: t.Crawlers}) {
		return r.refuse("the lines of its days are not the lines that it has")
	}
	for _, day := range slices.Sorted(maps.Keys(r.accounts)) {
		for cut := range r.settings.Cuts {
			if a := r.accounts[day]; r.requests[dayCut{day, cut}] != a.Counted+a.Unknown {
				return r.refuse("%s, by %s: the cells have %d lines of %d", day, r.settings.Cuts[cut], r.requests[dayCut{day, cut}], a.Counted+a.Unknown)
			}
		}
	}
	if r.lines.Scan() {
		r.line++
		return r.refuse("it follows the last line of the export")
	}
	return nil
}
