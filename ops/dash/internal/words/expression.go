package words

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// aliases are the expressions that the words behind "@" stand for.
var aliases = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}

// A cronField is a field of a cron expression: any value, every step-th, all between first and
// last, or the values of a list.
type cronField struct {
	any         bool
	step        int
	first, last int // of a range; last is zero for none
	list        []int
}

// The fields, their bounds, and the names that stand for numbers.
var cronFields = [5]struct {
	min, max int
	names    []string
}{
	{0, 59, nil}, {0, 23, nil}, {1, 31, nil},
	{1, 12, []string{"", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{0, 7, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// Cron returns an expression in words, empty if it has none: those that need more words than
// the expression.
func Cron(expr string) string {
	expr = strings.ToLower(strings.Join(strings.Fields(expr), " "))
	if every, found := strings.CutPrefix(expr, "@every "); found {
		return T("schedules.every", every)
	}
	if alias, found := aliases[expr]; found {
		expr = alias
	}
	parts := strings.Fields(expr)
	if len(parts) == 6 && parts[0] == "0" { // the seconds
		parts = parts[1:]
	}
	if len(parts) != len(cronFields) {
		return ""
	}
	var f [5]cronField
	for i := range parts {
		var ok bool
		if f[i], ok = parseCronField(parts[i], i); !ok {
			return ""
		}
	}
	times, clock := timesInWords(f[0], f[1])
	text, ok := daysInWords(times, clock, f[2], f[4])
	months, ok2 := listInWords("month.", f[3])
	switch {
	case times == "" || !ok || !ok2:
		return ""
	case months == "":
		return text
	}
	return T("schedules.months", text, months)
}

// parseCronField parses a field, and returns false for a form that has no words.
func parseCronField(text string, field int) (f cronField, ok bool) {
	bounds := cronFields[field]
	number := func(text string) int {
		if n := slices.Index(bounds.names, text); n >= 0 && text != "" {
			return n
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < bounds.min || n > bounds.max {
			ok = false
		}
		return n
	}
	ok = true
	if text == "*" || text == "?" || text == "*/1" {
		return cronField{any: true}, true
	}
	if step, found := strings.CutPrefix(text, "*/"); found {
		n, err := strconv.Atoi(step)
		return cronField{step: n}, err == nil && n > 0 && field < 2
	}
	if first, last, found := strings.Cut(text, "-"); found && !strings.Contains(text, ",") {
		f.first, f.last = number(first), number(last)
		return f, ok && f.first < f.last
	}
	for item := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(item, "-")
		if !isRange {
			last = first
		}
		for n, end := number(first), number(last); ok && n <= end; n++ {
			f.list = append(f.list, n)
		}
	}
	return f, ok && len(f.list) > 0
}

// maxClockTimes is the number of times of a day that are listed.
const maxClockTimes = 4

// timesInWords returns the times of a day in words, and reports whether they are times of the clock.
func timesInWords(minute, hour cronField) (text string, clock bool) {
	at := func(hour, minute int) string { return fmt.Sprintf("%02d:%02d", hour, minute) }
	one := len(minute.list) == 1
	switch {
	case len(minute.list)*len(hour.list) > maxClockTimes:
	case len(minute.list) > 0 && len(hour.list) > 0:
		var times []string
		for _, h := range hour.list {
			for _, m := range minute.list {
				times = append(times, at(h, m))
			}
		}
		return and(times), true
	case minute.any && hour.any:
		return T("schedules.minutely"), false
	case minute.step > 0 && hour.any:
		return T("schedules.minutes", minute.step), false
	case minute.step > 0 && hour.last > 0:
		return T("schedules.between", T("schedules.minutes", minute.step), at(hour.first, 0), at(hour.last, 59)), false
	case one && minute.list[0] == 0 && hour.any:
		return T("schedules.each_hour"), false
	case one && hour.any:
		return T("schedules.hourly", minute.list[0]), false
	case one && hour.last > 0:
		return T("schedules.between", T("schedules.each_hour"), at(hour.first, minute.list[0]), at(hour.last, minute.list[0])), false
	case one && minute.list[0] == 0 && hour.step > 0:
		return T("schedules.hours", hour.step), false
	}
	return "", false
}

// daysInWords returns times in words with their days. Where both days of the month and of the week
// are set, one of them is enough.
func daysInWords(times string, clock bool, ofMonth, ofWeek cronField) (text string, ok bool) {
	week, ok := listInWords("day.", ofWeek)
	month, ok2 := listInWords("", ofMonth)
	switch ok = ok && ok2; {
	case ofMonth.any && ofWeek.any && clock:
		return T("schedules.daily", times), ok
	case ofMonth.any && ofWeek.any:
		return times, ok
	case ofMonth.any && ofWeek.last > 0:
		return T("schedules.days", times, week), ok
	case ofMonth.any:
		return T("schedules.weekly", times, week), ok
	}
	text = T("schedules.monthly", times, month)
	if ofWeek.any {
		return text, ok
	}
	return T("schedules.or", text, week), ok
}

// listInWords returns the values of a field in words, whose texts have keys with a prefix; without
// one they are numbers. Any value has no words.
func listInWords(prefix string, f cronField) (text string, ok bool) {
	name := func(n int) string {
		if prefix == "" {
			return strconv.Itoa(n)
		}
		return T(prefix + strconv.Itoa(n))
	}
	switch {
	case f.any:
		return "", true
	case f.last > 0:
		return T("schedules.to", name(f.first), name(f.last)), true
	case f.step > 0:
		return "", false
	}
	var names []string
	for _, n := range f.list {
		names = append(names, name(n))
	}
	return and(names), true
}

// and joins names: "a", "a and b", "a, b and c".
func and(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return T("schedules.and", strings.Join(names[:last], ", "), names[last])
}
