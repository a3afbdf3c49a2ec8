package cuts

import (
	"encoding/binary"
	"slices"

	"skidway/distribute/accesslog"
	"skidway/distribute/geo"
)

// A column numbers the values that lines have of a dimension, in the order in which they come;
// countries have their index. It remembers what decided a value, so that most lines need not have its
// text made.
type column struct {
	Dimension
	number uint32    // of the value that the last line has
	values textTable // but for countries
	byKey  []uint32  // numbers plus one by a small number that decides the value, such as a status
	byText textCache // numbers by the text that decides the value, as it is in the line
	text   string    // of the format or file of the last line
	ofText uint32    // its number plus one; 0: there was none
}

// value returns the value with a number.
func (c *column) value(number uint32) string {
	if c.Kind == Country {
		return geo.CountryAt(int(number)).String()
	}
	return string(c.values.text(number))
}

// addColumn returns the index of the column of a dimension.
func (c *Counter) addColumn(d Dimension) int {
	if i := slices.IndexFunc(c.columns, func(other column) bool { return other.Dimension == d }); i >= 0 {
		return i
	}
	c.columns = append(c.columns, column{Dimension: d})
	return len(c.columns) - 1
}

// read reads the values that a line has in the first n columns.
func (c *Counter) read(n int, country int, v *accesslog.Values) {
	columns := c.columns[c.known:n]
	c.known = n
	for i := range columns {
		col, key := &columns[i], 0
		switch col.Kind {
		case Country:
			col.number = uint32(country)
			continue
		case Continent:
			key = country
		case Status, StatusClass:
			key, _ = v.Status()
		case Browser, Crawler, CrawlerClass:
			key = c.agent(v)
		case ASN:
			col.number = c.numberOfNetwork(col)
			continue
		case Format, File:
			col.number = c.numberOfOrigin(col)
			continue
		default:
			col.number = c.numberByText(col, country, v)
			continue
		}
		if uint(key) < uint(len(col.byKey)) && col.byKey[key] != 0 {
			col.number = col.byKey[key] - 1
		} else {
			col.number = c.numberByKey(col, max(key, 0), country, v)
		}
	}
}

// numberOfNetwork returns the number of the value that a line has of its network.
func (c *Counter) numberOfNetwork(col *column) uint32 {
	var key [4]byte
	binary.BigEndian.PutUint32(key[:], c.Origin.Network)
	return col.byText.get(key[:], func() uint32 { return c.numberOfValue(col, 0, nil) })
}

// numberOfOrigin returns the number of the value that a line has of its format or its file, which
// seldom change.
func (c *Counter) numberOfOrigin(col *column) uint32 {
	text := c.Origin.File
	if col.Kind == Format {
		text = c.Origin.Format
	}
	if col.ofText == 0 || text != col.text {
		col.text, col.ofText = text, c.numberOfValue(col, 0, nil)+1
	}
	return col.ofText - 1
}

// numberByKey returns the number of the value that a line has, and remembers that a key decides it.
func (c *Counter) numberByKey(col *column, key int, country int, v *accesslog.Values) uint32 {
	number := c.numberOfValue(col, country, v)
	if missing := key + 1 - len(col.byKey); missing > 0 {
		col.byKey = append(col.byKey, make([]uint32, missing)...)
	}
	col.byKey[key] = number + 1
	return number
}

// numberByText returns the number of the value that a line has which a text decides.
func (c *Counter) numberByText(col *column, country int, v *accesslog.Values) uint32 {
	switch col.Kind {
	case Method, Protocol, Host, ReferrerHost:
		text, ok := v.Get(textFields[col.Kind])
		if !ok {
			text = nil
		}
		return col.byText.get(text, func() uint32 { return c.numberOfValue(col, country, v) })
	case Path: // the query, which is no part of it, differs from line to line
		text, _ := v.Get(accesslog.Path)
		text = pathOf(text, col.Depth)
		hash := hashOf(text)
		if number, found := col.values.find(text, hash); found {
			return number
		}
		if len(text) > 0 && isPlain(text) {
			return col.values.add(text, hash)
		}
	}
	return c.numberOfValue(col, country, v)
}

// textFields has the field that alone decides the value of a dimension.
var textFields = [numKinds]accesslog.Field{
	Method: accesslog.Method, Protocol: accesslog.Protocol, Host: accesslog.Host, ReferrerHost: accesslog.Referrer,
}

// numberOfValue returns the number of the value that a line has by the text of the value.
func (c *Counter) numberOfValue(col *column, country int, v *accesslog.Values) uint32 {
	c.text = c.appendValue(c.text[:0], col.Dimension, country, v)
	hash := hashOf(c.text)
	if number, found := col.values.find(c.text, hash); found {
		return number
	}
	return col.values.add(c.text, hash)
}

// agent returns a number that decides the crawler and the browser of a line; 0 if it has no agent.
func (c *Counter) agent(v *accesslog.Values) int {
	text, ok := v.Get(accesslog.Agent)
	if !ok || len(text) == 0 {
		return 0
	}
	return int(c.agents.get(text, func() uint32 { return uint32(c.finder.Number(text)) })) + 1
}
