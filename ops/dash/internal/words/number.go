package words

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// None stands where there is no number.
const None = "–"

// Text returns the text of a value: numbers with commas.
func Text(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case int:
		return humanize.Comma(int64(v))
	case int64:
		return humanize.Comma(v)
	case uint64:
		return humanize.Comma(int64(min(v, math.MaxInt64)))
	case time.Duration:
		return Age(v)
	}
	return fmt.Sprint(value)
}

// Age returns a time that has passed in at most two units, such as "6m 14s" and "41m".
func Age(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 0:
		return None
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 20*time.Minute:
		return units(int(d.Minutes()), "m", int(d.Seconds())%60, "s")
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < day:
		return units(int(d.Hours()), "h", int(d.Minutes())%60, "m")
	case d < 10*day:
		return units(int(d/day), "d", int(d.Hours())%24, "h")
	}
	return fmt.Sprintf("%dd", int(d/day))
}

// units joins a number and a smaller one, which is left out if it is zero.
func units(large int, unit string, small int, smallUnit string) string {
	if small == 0 {
		return fmt.Sprintf("%d%s", large, unit)
	}
	return fmt.Sprintf("%d%s %02d%s", large, unit, small, smallUnit)
}

// Took returns the length of an attempt, such as "41 ms", "0.94 s" and "6m 02s".
func Took(d time.Duration) string {
	switch {
	case d <= 0:
		return None
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%.3g ms", float64(d.Microseconds())/1000)
	case d < 10*time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return Age(d)
}

// About returns a time that is known within a factor of two, rounded to two digits: "≈ 0.94 s".
func About(d time.Duration) string {
	if d <= 0 {
		return None
	}
	if d < time.Minute {
		scale := math.Pow(10, math.Floor(math.Log10(float64(d)))-1)
		d = time.Duration(math.Round(float64(d)/scale) * scale)
		if d < 100*time.Millisecond {
			return "≈ " + Took(d)
		}
		return "≈ " + strconv.FormatFloat(d.Seconds(), 'g', 2, 64) + " s"
	}
	return "≈ " + Age(d)
}

// Bytes returns a size in KiB, MiB or GiB.
func Bytes(n any) string {
	size, err := strconv.ParseUint(fmt.Sprint(n), 10, 64)
	if err != nil {
		return None
	}
	return humanize.IBytes(size)
}

// Ratio returns a share as percent, such as "3.3 %".
func Ratio(part, whole int64) string {
	if whole == 0 {
		return None
	}
	percent := 100 * float64(part) / float64(whole)
	if percent < 10 && percent > 0 {
		return fmt.Sprintf("%.1f %%", percent)
	}
	return fmt.Sprintf("%.0f %%", percent)
}

// Short returns a number of an axis, such as "12.5 k".
func Short(n float64) string {
	unit := ""
	for _, larger := range []string{"k", "M", "G"} {
		if n < 1000 {
			break
		}
		n, unit = n/1000, " "+larger
	}
	return strings.TrimSuffix(strconv.FormatFloat(n, 'f', 1, 64), ".0") + unit
}

// A LongID is an id that is cut in the middle where there is no room.
type LongID struct{ All, First, Last string }

// idEnd is the length of the end of an id that is always shown.
const idEnd = 8

// Long returns an id that is cut before its end.
func Long(id string) LongID {
	cut := max(0, len(id)-idEnd)
	return LongID{id, id[:cut], id[cut:]}
}

// Cut returns the first bytes of a text, without half a character.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && text[limit]&0xc0 == 0x80 {
		limit--
	}
	return text[:limit] + "…"
}
