package cuts

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Difference returns why counts with other settings can't be added to those with these: what differs
// of the cuts, the measures, the filter and the time zones. It is empty if they can.
func (s Settings) Difference(other Settings) string {
	measures := func(s Settings) string {
		names := make([]string, len(s.Measures))
		for i, m := range s.Measures {
			names[i] = string(m)
		}
		return strings.Join(names, ",")
	}
	for _, setting := range []struct{ flag, own, other string }{
		{"--by", join(s.Cuts), join(other.Cuts)},
		{"--measure", measures(s), measures(other)},
		{"--where", s.Where.String(), other.Where.String()},
		{"--tz", s.Zone, other.Zone},
		{"--log-tz", s.LogZone, other.LogZone},
	} {
		if setting.own != setting.other {
			return fmt.Sprintf("it was counted with %s %q, and the subscriber has %q", setting.flag, setting.other, setting.own)
		}
	}
	return ""
}

// CheckGroup returns an error if no cells of a group are counted.
func (s Settings) CheckGroup(g Group) error {
	if g.Cut < 0 || g.Cut >= len(s.Cuts) || !slices.Contains(s.Groups(g), g) {
		return fmt.Errorf("no cells of the group %.40q are counted", g)
	}
	return nil
}

// CheckMember returns an error for a member that no cell of a group has.
func (s Settings) CheckMember(g Group, member string) error {
	stored := s.Cuts[g.Cut].stored()
	list, ok := values(member, len(stored))
	if !ok {
		return fmt.Errorf("%.40q are not the values of %s", member, s.Cuts[g.Cut])
	}
	for i, value := range list {
		if err := stored[i].Kind.checkValue(value); err != nil {
			return err
		}
	}
	return nil
}

// checkValue returns an error for a text that is not the value of a dimension.
func (k Kind) checkValue(value string) error {
	if value == "" || len(value) > maxValue || !utf8.ValidString(value) || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fmt.Errorf("%s is never %.40q", k, value)
	}
	if (k == Country || k == Continent || k == Hour) && value != Other && value != Missing {
		return checks[k]("==", value)
	}
	return nil
}
