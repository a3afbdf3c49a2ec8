package cuts

import (
	"net/netip"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"skidway/distribute/accesslog"
	"skidway/internal/filter"
)

// Missing is the value of a dimension that a line lacks, but for country and continent. In a
// filter it is an empty text.
const Missing = "-"

// lineSchema has the fields of filters of lines: the dimensions, then the others.
var lineSchema = func() filter.Schema {
	var schema filter.Schema
	for kind := range numKinds {
		schema = append(schema, dimensionField(kind))
	}
	return append(schema,
		filter.Field{Name: "address", Type: filter.Address, Definite: true},
		filter.Field{Name: "agent", Definite: true}, filter.Field{Name: "referrer", Definite: true}, filter.Field{Name: "user", Definite: true},
		filter.Field{Name: "bytes", Type: filter.Number, Definite: true},
		filter.Field{Name: "duration", Type: filter.Duration, Definite: true},
	)
}()

// dimensionValue returns the value of a dimension in a filter.
func dimensionValue(kind Kind, value string) filter.Value {
	if kind == Status {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return filter.Value{}
		}
		return filter.OfInt(n)
	}
	if value == Missing {
		value = ""
	}
	return filter.OfText(value)
}

// The fields of a filter of lines that are no dimensions, behind those in its schema.
const (
	addressField = int(numKinds) + iota
	agentField
	referrerField
	userField
	bytesField
	durationField
)

// fieldsOfOthers has the fields of a line that those of a filter are made of which are no
// dimensions.
var fieldsOfOthers = map[int]accesslog.Field{
	agentField: accesslog.Agent, referrerField: accesslog.Referrer, userField: accesslog.User,
	bytesField: accesslog.Bytes, durationField: accesslog.Duration,
}

// A LineFilter selects the lines that are counted. Nil selects all. It is safe for concurrent use.
type LineFilter struct{ filter *filter.Filter }

// ParseLineFilter parses a filter of lines, by all dimensions and by address, agent, referrer,
// user, bytes and duration, in the syntax of package filter. It returns nil for an empty text.
func ParseLineFilter(text string) (*LineFilter, error) {
	f, err := filter.Parse(text, lineSchema)
	if err != nil || f.IsEmpty() {
		return nil, err
	}
	return &LineFilter{f}, nil
}

// String returns the canonical text of the filter; it is empty for nil.
func (f *LineFilter) String() string {
	if f == nil {
		return ""
	}
	return f.filter.String()
}

// Uses reports whether the filter uses a dimension of one of some kinds.
func (f *LineFilter) Uses(kinds ...Kind) bool {
	return f != nil && slices.ContainsFunc(kinds, func(k Kind) bool { return f.filter.Uses(int(k)) })
}

// lacks returns the first field that the filter uses and cells of a cut don't have. All have the
// times that are made of their day.
func (f *LineFilter) lacks(cut Cut) string {
	for i, field := range lineSchema {
		if f == nil || !f.filter.Uses(i) || i < int(numKinds) && Kind(i).ofDay() {
			continue
		}
		if !slices.Contains(cut.Columns(), field.Name) {
			return field.Name
		}
	}
	return ""
}

// UsesAddress reports whether the filter uses the address of the client.
func (f *LineFilter) UsesAddress() bool { return f != nil && f.filter.Uses(addressField) }

// fields returns the fields of lines that the filter needs.
func (f *LineFilter) fields() (set accesslog.FieldSet) {
	for kind, fields := range fieldsOf {
		if f.Uses(kind) {
			set |= accesslog.Fields(fields...)
		}
	}
	for number, field := range fieldsOfOthers {
		if f != nil && f.filter.Uses(number) {
			set |= accesslog.Fields(field)
		}
	}
	return set
}

// A filterTree has the part of a filter that uses few values: by those it selects all lines, or
// none. The other part is that of each line.
type filterTree struct {
	few      filter.Matcher // nil: there is none
	rest     filter.Matcher // nil: there is none
	columns  int            // of the Counter that the tree uses
	tree     tree
	verdicts []filterVerdict // of few, by the nodes of the tree
	line     lineRecord
}

type filterVerdict uint8

const (
	unread filterVerdict = iota
	selected
	refused
)

// newFilterTree returns the tree of the filter of the settings.
func (c *Counter) newFilterTree() (f filterTree) {
	if c.settings.Where == nil {
		return f
	}
	few, rest := c.settings.Where.filter.Split(func(field int) bool { return field < int(numKinds) && c.hasFew(Kind(field)) })
	if !rest.IsEmpty() {
		f.rest = rest.Matcher(time.Time{})
	}
	if few.IsEmpty() {
		return f
	}
	f.few = few.Matcher(time.Time{})
	var used Cut
	for kind := range numKinds {
		if few.Uses(int(kind)) {
			used = append(used, Dimension{Kind: kind})
		}
	}
	f.tree = c.newTree(used.stored())
	f.columns = len(c.columns)
	return f
}

// hasFew reports whether lines have few values of a dimension, or those that are counted by.
func (c *Counter) hasFew(kind Kind) bool {
	switch kind {
	case ASN, Hour, Host, ReferrerHost, Path:
		return slices.ContainsFunc(c.settings.Cuts, func(cut Cut) bool { return slices.Contains(cut, Dimension{Kind: kind}) })
	}
	return true
}

// A lineRecord is a line as a record of a filter.
type lineRecord struct {
	counter *Counter
	day     accesslog.Day
	country int
	addr    netip.Addr
	values  *accesslog.Values
	dayText string // of the day
	value   []byte // of a dimension, and used again
}

// Matches reports whether the filter of the settings selects a line of the country with an index.
// addr is the client's address; it may be invalid unless [LineFilter.UsesAddress]. A line for whose day
// there is no room is selected, and Count reports that.
func (c *Counter) Matches(day accesslog.Day, country int, addr netip.Addr, v *accesslog.Values) bool {
	return c.settings.Where == nil || c.matches(day, country, addr, v)
}

func (c *Counter) matches(day accesslog.Day, country int, addr netip.Addr, v *accesslog.Values) bool {
	f := &c.filter
	c.known = 0
	r := &f.line
	if r.dayText == "" || day != r.day {
		r.day, r.dayText = day, day.String()
	}
	r.counter, r.country, r.addr, r.values = c, country, addr, v
	if (len(c.days) == 0 || c.days[c.day] != day) && !c.setDay(day) {
		return true
	}
	if (f.few == nil || c.selects(r)) && (f.rest == nil || f.rest(r)) {
		return true
	}
	c.filtered[c.day]++
	return false
}

// selects reports whether the part of the filter that uses few values selects a line.
func (c *Counter) selects(r *lineRecord) bool {
	f := &c.filter
	c.read(f.columns, r.country, r.values)
	node := c.node(&f.tree)
	for node >= len(f.verdicts) {
		f.verdicts = append(f.verdicts, unread)
	}
	if f.verdicts[node] == unread {
		f.verdicts[node] = refused
		if f.few(r) {
			f.verdicts[node] = selected
		}
	}
	return f.verdicts[node] == selected
}

// borrowed returns a text that shares the bytes of b, which saves a copy of each line: a filter
// keeps no values, and the bytes don't change while it matches.
func borrowed(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Value implements [filter.Record].
func (r *lineRecord) Value(field int, _ []string) filter.Value {
	switch field {
	case addressField:
		return filter.OfAddress(r.addr)
	case agentField, referrerField, userField:
		text, ok := r.values.Get(fieldsOfOthers[field])
		if !ok {
			return filter.OfText("")
		}
		return filter.OfText(borrowed(text))
	case bytesField:
		if n, ok := r.values.Bytes(); ok {
			return filter.OfInt(n)
		}
		return filter.Value{}
	case durationField:
		if d, ok := r.values.Duration(); ok {
			return filter.OfDuration(d)
		}
		return filter.Value{}
	}
	kind := Kind(field)
	switch kind {
	case Day, Week, Month:
		return filter.OfText(timeValue(kind, r.dayText))
	case Path:
		text, ok := r.values.Get(accesslog.Path)
		if text = pathOf(text, 0); ok && isPlain(text) {
			return filter.OfText(borrowed(text))
		}
	case Status:
		if status, ok := r.values.Status(); ok && status >= 100 {
			return filter.OfInt(int64(status))
		}
		return filter.Value{}
	}
	r.value = r.counter.appendValue(r.value[:0], Dimension{Kind: kind}, r.country, r.values)
	return dimensionValue(kind, borrowed(r.value))
}
