package htmlreport

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// units are those of large numbers, the largest first, with the least number that is written in them.
var units = []struct {
	least int64
	size  float64
	name  string
}{{1e12, 1e12, "tn"}, {1e9, 1e9, "bn"}, {1e6, 1e6, "M"}, {1e4, 1e3, "k"}}

// short returns a number with three digits that count: "1.40 bn". The script does the same.
func short(n int64) string {
	sign := ""
	if n < 0 {
		sign, n = "−", -n
	}
	for _, unit := range units {
		if n >= unit.least {
			x := float64(n) / unit.size
			return sign + fixed(x, max(0, 2-int(math.Log10(x)))) + " " + unit.name
		}
	}
	return sign + humanize.Comma(n)
}

// fixed returns a number with so many digits behind the point. A half is rounded up, as the script
// does.
func fixed(x float64, digits int) string {
	scale := math.Pow10(digits)
	return strconv.FormatFloat(math.Floor(x*scale+0.5)/scale, 'f', digits, 64)
}

// counted returns a number, as it is written, with what it counts: "1 file", "1.40 bn requests". The script
// does the same.
func counted(n int64, number, one string) string {
	if n == 1 {
		return number + " " + one
	}
	return number + " " + one + "s"
}

// axis returns a number of an axis: "1.5 M".
func axis(n float64) string {
	number, unit, _ := strings.Cut(short(int64(n)), " ")
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return strings.TrimSpace(number + " " + unit)
}

// change returns the change from before in percent: "+15 %", "−7.0 %".
func change(n, before int64) string {
	switch {
	case before == 0 && n == 0:
		return ""
	case before == 0:
		return "new"
	}
	percent := 100 * float64(n-before) / float64(before)
	sign := "+"
	if percent < 0 {
		sign, percent = "−", -percent
	}
	if percent < 9.95 {
		return sign + fixed(percent, 1) + " %"
	}
	return fmt.Sprintf("%s%s %%", sign, humanize.Comma(int64(math.Floor(percent+0.5))))
}

// direction returns the class of a change: "up" or "dn".
func direction(n, before int64) string {
	switch {
	case n > before:
		return "up"
	case n < before:
		return "dn"
	}
	return ""
}

// share returns a part of a whole in percent.
func share(part, whole int64) string {
	switch {
	case whole == 0:
		return ""
	case part > 0 && 1000*part < whole:
		return "< 0.1 %"
	}
	return strconv.FormatFloat(math.Floor(1000*float64(part)/float64(whole)+0.5)/10, 'f', 1, 64) + " %"
}

// dayName returns a day for a heading: "19 Nov".
func dayName(t time.Time) string { return t.Format("2 Jan") }
