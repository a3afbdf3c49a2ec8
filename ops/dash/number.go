package dash

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// none stands where there is no number.
const none = "–"

// text returns the text of a value: numbers with commas.
func text(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case int:
		return humanize.Comma(int64(v))
	case int64:
		return humanize.Comma(v)
	case time.Duration:
		return age(v)
	}
	return fmt.Sprint(value)
}

// number returns a number with commas.
func number(value any) string { return text(value) }

// age returns a time that has passed in at most two units, such as "6m 14s" and "41m".
func age(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 0:
		return none
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

// took returns the length of an attempt, such as "41 ms", "0.94 s" and "6m 02s".
func took(d time.Duration) string {
	switch {
	case d <= 0:
		return none
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%.3g ms", float64(d.Microseconds())/1000)
	case d < 10*time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return age(d)
}

// about returns a time that is known within a factor of two, rounded to two digits: "≈ 0.94 s".
func about(d time.Duration) string {
	if d <= 0 {
		return none
	}
	if d < time.Minute {
		scale := math.Pow(10, math.Floor(math.Log10(float64(d)))-1)
		d = time.Duration(math.Round(float64(d)/scale) * scale)
		if d < 100*time.Millisecond {
			return "≈ " + took(d)
		}
		return "≈ " + strconv.FormatFloat(d.Seconds(), 'g', 2, 64) + " s"
	}
	return "≈ " + age(d)
}

// byteSize returns a size in KiB, MiB or GiB.
func byteSize(n any) string {
	size, err := strconv.ParseUint(fmt.Sprint(n), 10, 64)
	if err != nil {
		return none
	}
	return humanize.IBytes(size)
}

// ratio returns a share as percent, such as "3.3 %".
func ratio(part, whole int64) string {
	if whole == 0 {
		return none
	}
	percent := 100 * float64(part) / float64(whole)
	if percent < 10 && percent > 0 {
		return fmt.Sprintf("%.1f %%", percent)
	}
	return fmt.Sprintf("%.0f %%", percent)
}

// short returns a number of an axis, such as "12.5 k".
func short(n float64) string {
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

func longID(id string) LongID {
	cut := max(0, len(id)-idEnd)
	return LongID{id, id[:cut], id[cut:]}
}

// A Stamp is a time as it is shown: a short text, and the exact time with its zone in the title.
type Stamp struct{ ISO, Title, Text string }

// stamp returns a time with a text for it.
func (p *page) stamp(at time.Time, text string) Stamp {
	if at.IsZero() {
		return Stamp{Text: none}
	}
	local := at.In(p.Settings.zone)
	title := local.Format("2006-01-02 15:04:05 MST")
	if p.Settings.zone != time.UTC {
		title += " · " + at.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	return Stamp{at.UTC().Format(time.RFC3339), title, text}
}

// Clock returns a time of the clock: "03:12", with the day if it is another one.
func (p *page) Clock(at, now time.Time) Stamp { return p.stamp(at, p.clock(at, now, "15:04")) }

// ClockSeconds is Clock with seconds.
func (p *page) ClockSeconds(at, now time.Time) Stamp {
	return p.stamp(at, p.clock(at, now, "15:04:05"))
}

// Since returns the time of the clock behind the word since.
func (p *page) Since(at, now time.Time) Stamp {
	return p.stamp(at, T("time.since", p.clock(at, now, "15:04")))
}

// Ago returns a time by its age, such as "31m ago".
func (p *page) Ago(at, now time.Time) Stamp { return p.stamp(at, T("time.ago", age(now.Sub(at)))) }

// Age returns a time by its age alone, such as "31m".
func (p *page) Age(at, now time.Time) Stamp {
	if at.IsZero() {
		return Stamp{Text: none}
	}
	return p.stamp(at, age(max(0, now.Sub(at))))
}

// clock formats a time in the zone of the settings. The day stands before it unless it is that of now.
func (p *page) clock(at, now time.Time, layout string) string {
	at, now = at.In(p.Settings.zone), now.In(p.Settings.zone)
	days := at.Sub(now).Abs() / (24 * time.Hour)
	switch {
	case at.Format(time.DateOnly) == now.Format(time.DateOnly):
	case days < 6:
		layout = "Mon " + layout
	case days < 180:
		layout = "2 Jan " + layout
	default:
		layout = "2 Jan 2006"
	}
	return at.Format(layout)
}
