package filter

import (
	"errors"
	"regexp"
	"strconv"
	"time"
)

// A timeLiteral is a time, or a distance from now.
type timeLiteral struct {
	fixed    time.Time
	relative bool
	distance time.Duration
}

// at returns the time.
func (t timeLiteral) at(now time.Time) time.Time {
	if t.relative {
		return now.Add(t.distance)
	}
	return t.fixed
}

var layouts = []string{time.RFC3339Nano, time.DateOnly, "2006-01-02 15:04", time.DateTime}

func parseTime(text string) (timeLiteral, error) {
	if text == "now" {
		return timeLiteral{relative: true}, nil
	}
	if distance, err := parseDuration(text); err == nil {
		return timeLiteral{relative: true, distance: distance}, nil
	}
	for _, layout := range layouts {
		if fixed, err := time.Parse(layout, text); err == nil {
			return timeLiteral{fixed: fixed}, nil
		}
	}
	return timeLiteral{}, errors.New(`want a time such as "-12h", "-3d", "2006-01-02", "2006-01-02 15:04" or "2006-01-02T15:04:05Z"`)
}

var durationPattern = regexp.MustCompile(`^([+-]?)(?:([0-9]{1,5})d)?([0-9][0-9a-zµ.]*)?$`)

// parseDuration reads a duration as [time.ParseDuration] does, which may begin with days.
func parseDuration(text string) (d time.Duration, err error) {
	parts := durationPattern.FindStringSubmatch(text)
	if parts == nil || parts[2] == "" && parts[3] == "" {
		return 0, errors.New(`want a duration such as "90s", "5m" or "3d12h"`)
	}
	if parts[3] != "" {
		if d, err = time.ParseDuration(parts[3]); err != nil {
			return 0, err
		}
	}
	days, _ := strconv.Atoi("0" + parts[2])
	if d += time.Duration(days) * 24 * time.Hour; d < 0 {
		return 0, errors.New("too long")
	}
	if parts[1] == "-" {
		d = -d
	}
	return d, nil
}
