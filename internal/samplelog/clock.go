package samplelog

import "time"

// rhythm is how busy each hour of a day is, compared with the others.
var rhythm = [24]uint64{
	22, 16, 12, 10, 10, 13, 20, 32, 46, 56, 60, 61,
	58, 57, 58, 59, 60, 62, 66, 70, 68, 58, 44, 32,
}

const stampLayout = "[02/Jan/2006:15:04:05 -0700]"

// A clock tells the time of each line. Line i of n stands where a share i/n of
// all requests has passed, so that times never go back and every day has the
// same number of lines.
type clock struct {
	first       time.Time // midnight, UTC
	lines, days uint64
	busy        uint64   // the sum of rhythm
	hours       []uint8  // the hour for each unit of busy
	before      []uint64 // units of busy before each hour

	day, second uint64 // what stamp shows
	stamp       []byte
}

func newClock(o Options) *clock {
	y, m, d := o.First.UTC().Date()
	c := &clock{first: time.Date(y, m, d, 0, 0, 0, 0, time.UTC), lines: uint64(o.Lines), days: uint64(o.Days)}
	for hour, weight := range rhythm {
		c.before = append(c.before, c.busy)
		for range weight {
			c.hours = append(c.hours, uint8(hour))
		}
		c.busy += weight
	}
	c.stamp = c.first.AppendFormat(nil, stampLayout)
	return c
}

// at gives the time of line i in brackets. The bytes are good until the next
// call.
func (c *clock) at(i uint64) []byte {
	units := i * c.days * c.busy // passed units, in parts of 1/lines
	unit, part := units/c.lines, units%c.lines
	day := unit / c.busy
	hour := uint64(c.hours[unit%c.busy])
	inHour := (unit%c.busy-c.before[hour])*c.lines + part
	second := 3600*hour + 3600*inHour/(rhythm[hour]*c.lines)

	if day != c.day {
		c.day = day
		c.stamp = c.first.AddDate(0, 0, int(day)).AppendFormat(c.stamp[:0], stampLayout)
	}
	if second != c.second {
		c.second = second
		putTwo(c.stamp[13:], second/3600)
		putTwo(c.stamp[16:], second/60%60)
		putTwo(c.stamp[19:], second%60)
	}
	return c.stamp
}

func putTwo(to []byte, n uint64) {
	to[0], to[1] = byte('0'+n/10), byte('0'+n%10)
}
