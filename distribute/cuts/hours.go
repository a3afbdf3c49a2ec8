package cuts

import (
	"time"

	"skidway/distribute/accesslog"
)

// An hourText formats hours. It remembers the minute of the last line.
type hourText struct {
	minute int64
	offset int
	zoned  bool
	text   []byte
}

// of returns the hour of a line with the offset of its clock from UTC.
func (h *hourText) of(v *accesslog.Values, zone *time.Location) []byte {
	at, ok := v.Time()
	if !ok || at.Dated {
		return []byte(Missing)
	}
	minute := at.Unix / 60
	if h.text != nil && minute == h.minute && at.Offset == h.offset && at.Zoned == h.zoned {
		return h.text
	}
	h.minute, h.offset, h.zoned = minute, at.Offset, at.Zoned
	written := time.Unix(at.Unix, 0).UTC()
	if at.Zoned {
		written = written.In(time.FixedZone("", at.Offset))
	}
	if at.Zoned && zone != nil {
		written = written.In(zone)
	}
	h.text = written.AppendFormat(h.text[:0], "2006-01-02T15:00")
	if at.Zoned {
		h.text = written.AppendFormat(h.text, "-07:00")
	}
	return h.text
}
