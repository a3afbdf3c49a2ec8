package ops

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"skidway/internal/yamltext"
	"skidway/queue"
)

// A Rank is how bad a [Diagnosis] or a [Finding] is.
type Rank string

// The ranks.
const (
	Problem Rank = "problem" // jobs do not run as they should, or are lost
	Warning Rank = "warning" // they soon may not, or may be lost one day
	Fine    Rank = "ok"      // of a finding: nothing is wrong
	Unknown Rank = "unknown" // of a finding: what it is about can't be read
	Off     Rank = "off"     // of a rule: it is not used
)

// A Rule is a row of the table of diagnoses. In [Config] a field that is zero has its default.
type Rule struct {
	Name string
	Rank Rank

	Within   time.Duration // the time for which it must hold, or in which attempts are counted
	Attempts int           // failing: the minimum of attempts
	Percent  int           // failing: the minimum share of them that failed
	Oldest   time.Duration // grows: the age above which the oldest waiting job must be
}

// DefaultRules returns the table of diagnoses, the worst first.
func DefaultRules() []Rule {
	rules := make([]Rule, len(diagnoses))
	for i, row := range diagnoses {
		rules[i] = row.Rule
	}
	return rules
}

// ParseRules returns the rules of a YAML text, for [Config]. It has a map for each rule that is not
// as in [DefaultRules]:
//
//	failing: {attempts: 100, percent: 5, within: 5m}
//	grows: {rank: off}
//
// The error is a [queue.ErrInvalid].
func ParseRules(text []byte) ([]Rule, error) {
	var file map[string]map[string]string
	if err := yamltext.Decode(text, &file); err != nil {
		return nil, fmt.Errorf("%w: %w", queue.ErrInvalid, err)
	}
	var rules []Rule
	for _, name := range slices.Sorted(maps.Keys(file)) {
		rule, err := defaultRule(name)
		if err != nil {
			return nil, err
		}
		defaults := rule
		for key, value := range file[name] {
			if err := rule.set(key, value); err != nil {
				return nil, fmt.Errorf("rule %s: %s %q: %w: %w", name, key, value, err, queue.ErrInvalid)
			}
		}
		if err := rule.validate(defaults); err != nil {
			return nil, err
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

// set sets a value of the rule from text.
func (r *Rule) set(key, text string) (err error) {
	switch key {
	case "rank":
		r.Rank = Rank(text)
	case "within":
		r.Within, err = time.ParseDuration(text)
	case "oldest":
		r.Oldest, err = time.ParseDuration(text)
	case "attempts":
		r.Attempts, err = strconv.Atoi(text)
	case "percent":
		r.Percent, err = strconv.Atoi(text)
	default:
		return errors.New("a rule has rank, within, attempts, percent and oldest")
	}
	switch {
	case err == nil:
	case key == "within" || key == "oldest":
		err = errors.New("want a length of time such as 90s or 2h")
	default:
		err = errors.New("want a whole number")
	}
	return err
}

// defaultRule returns the default rule of a name.
func defaultRule(name string) (Rule, error) {
	names := make([]string, len(diagnoses))
	for i, row := range diagnoses {
		if row.Name == name {
			return row.Rule, nil
		}
		names[i] = row.Name
	}
	return Rule{}, fmt.Errorf("rule %q: there is only %s: %w", name, strings.Join(names, ", "), queue.ErrInvalid)
}

// mergeRules returns the default rules with other rules in place of those of the same names.
func mergeRules(others []Rule) ([]Rule, error) {
	rules := DefaultRules()
	for _, other := range others {
		defaults, err := defaultRule(other.Name)
		if err != nil {
			return nil, err
		}
		other = other.withDefaults(defaults)
		if err := other.validate(defaults); err != nil {
			return nil, err
		}
		rules[slices.IndexFunc(rules, func(r Rule) bool { return r.Name == other.Name })] = other
	}
	return rules, nil
}

// withDefaults returns the rule with those of another one in place of zero values.
func (r Rule) withDefaults(defaults Rule) Rule {
	r.Rank = cmp.Or(r.Rank, defaults.Rank)
	r.Within = cmp.Or(r.Within, defaults.Within)
	r.Attempts = cmp.Or(r.Attempts, defaults.Attempts)
	r.Percent = cmp.Or(r.Percent, defaults.Percent)
	r.Oldest = cmp.Or(r.Oldest, defaults.Oldest)
	return r
}

// A rule looks back for a time of at least minWithin, in which a queue is looked at several times, and
// at most maxWithin, which bounds the size of a history.
const (
	minWithin = time.Minute
	maxWithin = time.Hour
)

// validate returns an error if a value is out of its range, or if the rule does not have it: defaults
// has zero there.
func (r Rule) validate(defaults Rule) error {
	wrong := func(format string, values ...any) error {
		return fmt.Errorf("rule "+r.Name+": "+format+": %w", append(values, queue.ErrInvalid)...)
	}
	failing, grows := defaults.Percent > 0, defaults.Oldest > 0
	switch {
	case !slices.Contains([]Rank{Problem, Warning, Off}, r.Rank):
		return wrong("rank %q: want problem, warning or off", r.Rank)
	case r.Within < minWithin || r.Within > maxWithin:
		return wrong("within %s: want %s to %s", r.Within, minWithin, maxWithin)
	case !failing && (r.Attempts != 0 || r.Percent != 0):
		return wrong("it has no attempts and no percent, as failing has")
	case !grows && r.Oldest != 0:
		return wrong("it has no oldest, as grows has")
	case failing && (r.Percent < 1 || r.Percent > 100):
		return wrong("percent %d: want 1 to 100", r.Percent)
	case failing && r.Attempts < 1:
		return wrong("attempts %d: want 1 or more", r.Attempts)
	case grows && r.Oldest < time.Second:
		return wrong("oldest %s: want 1s or more", r.Oldest)
	}
	return nil
}
