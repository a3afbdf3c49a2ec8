package dash

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"skidway/ops/dash/internal/words"
)

// settings are what a person has chosen. They are in a cookie, which the script sets at the first
// visit to the zone of the browser.
type settings struct {
	Theme string // "light", "dark", or "" for that of the system
	Zone  string // a name of a time zone
	Keys  bool   // whether letters are commands
	zone  *time.Location
}

const (
	settingsCookie = "skidway-view"
	settingsAge    = 365 * 24 * 3600 // seconds
)

var themes = []string{"", "light", "dark"}

// readSettings returns the settings of a request; what is not valid has its default.
func readSettings(r *http.Request) settings {
	s := settings{Zone: "UTC", Keys: true, zone: time.UTC}
	cookie, err := r.Cookie(settingsCookie)
	if err != nil {
		return s
	}
	values, err := url.ParseQuery(cookie.Value)
	if err != nil {
		return s
	}
	if theme := values.Get("theme"); slices.Contains(themes, theme) {
		s.Theme = theme
	}
	if zone, name := parseZone(values.Get("zone")); zone != nil {
		s.zone, s.Zone = zone, name
	}
	s.Keys = values.Get("keys") != "off"
	return s
}

// parseZone returns a time zone by its name, nil if there is none.
func parseZone(name string) (*time.Location, string) {
	if name == "" || name == "Local" || len(name) > 64 || strings.HasPrefix(name, "/") || strings.Contains(name, "..") {
		return nil, ""
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, ""
	}
	return zone, name
}

// cookie returns the value of the cookie.
func (s settings) cookie() string {
	values := url.Values{"zone": {s.Zone}}
	if s.Theme != "" {
		values.Set("theme", s.Theme)
	}
	if !s.Keys {
		values.Set("keys", "off")
	}
	return values.Encode()
}

// zones are the time zones that the form suggests; it takes others too.
var zones = []string{"UTC", "America/Los_Angeles", "America/New_York", "America/Sao_Paulo", "Europe/London", "Europe/Berlin", "Europe/Helsinki", "Africa/Lagos", "Asia/Dubai", "Asia/Kolkata", "Asia/Singapore", "Asia/Shanghai", "Asia/Tokyo", "Australia/Sydney"}

// settingsPage is the form of the settings of this browser.
func settingsPage(p *page) error {
	p.Title = words.T("settings.title")
	p.Data = zones
	return nil
}

// changeSettings is the action of the forms of settings: fields that a form does not have stay.
func changeSettings(p *page) (string, message, error) {
	s, form := p.Settings, p.request.PostForm
	if form.Has("theme") && slices.Contains(themes, form.Get("theme")) {
		s.Theme = form.Get("theme")
	}
	if form.Has("zone") {
		zone, name := parseZone(form.Get("zone"))
		if zone == nil {
			return back(p), message{Rank: "bad", Key: "settings.no_zone", Args: []string{form.Get("zone")}}, nil
		}
		s.zone, s.Zone = zone, name
	}
	if form.Has("keys") {
		s.Keys = form.Get("keys") != "off"
	}
	p.setCookie(settingsCookie, s.cookie(), settingsAge, false)
	return back(p), done("settings.saved"), nil
}

// back returns the path of the page that has the form, from its field "back".
func back(p *page) string { return backTo(p, p.request.PostForm.Get("back")) }

// backTo returns a path if it is that of a page of the dashboard, else that of the overview.
func backTo(p *page, text string) string {
	if !isPath(text) {
		return "/"
	}
	target, _ := url.Parse(text)
	r := &http.Request{Method: http.MethodGet, URL: target}
	if _, pattern := p.dash.mux.Handler(r); !strings.HasPrefix(pattern, "GET ") {
		return "/"
	}
	return target.RequestURI()
}

// isPath reports whether a text is a path, and leads to no other host.
func isPath(text string) bool {
	target, err := url.Parse(text)
	return err == nil && strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//") && !strings.ContainsAny(text, "\\\r\n\t") && target.Host == "" && target.Scheme == ""
}

// Here returns the path of this page with its query, for the field "back" of a form.
func (e *exchange) Here() string { return e.request.URL.RequestURI() }

// A clock shows times in the zone of the settings.
type clock struct{ zone *time.Location }

// A Stamp is a time as it is shown: a short text, and the exact time with its zone in the title.
type Stamp struct {
	ISO, Title, Text string
	Age              string // the text with %s in place of an age that the script counts on; empty for others
	Key              string // of a time that the stream changes in place
}

// stamp returns a time with a text for it.
func (c clock) stamp(at time.Time, text string) Stamp {
	if at.IsZero() {
		return Stamp{Text: words.None}
	}
	local := at.In(c.zone)
	title := local.Format("2006-01-02 15:04:05 MST")
	if c.zone != time.UTC {
		title += " · " + at.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	return Stamp{ISO: at.UTC().Format(time.RFC3339), Title: title, Text: text}
}

// aged returns a time with a text that has its age, or the time until then, in place of %s.
func (c clock) aged(at time.Time, format string, age time.Duration) Stamp {
	s := c.stamp(at, strings.Replace(format, "%s", words.Age(max(0, age)), 1))
	s.Age = format
	return s
}

// Clock returns a time of the clock: "03:12", with the day if it is another one.
func (c clock) Clock(at, now time.Time) Stamp { return c.stamp(at, c.text(at, now, "15:04")) }

// ClockSeconds is Clock with seconds.
func (c clock) ClockSeconds(at, now time.Time) Stamp {
	return c.stamp(at, c.text(at, now, "15:04:05"))
}

// Since returns the time of the clock behind the word since.
func (c clock) Since(at, now time.Time) Stamp {
	return c.stamp(at, words.T("time.since", c.text(at, now, "15:04")))
}

// Ago returns a time by its age, such as "31m ago".
func (c clock) Ago(at, now time.Time) Stamp {
	return c.aged(at, words.T("time.ago", "%s"), now.Sub(at))
}

// In returns a time by how long it is ahead, such as "in 31m".
func (c clock) In(at, now time.Time) Stamp {
	return c.aged(at, words.T("time.in", "%s"), at.Sub(now))
}

// Age returns a time by its age alone, such as "31m".
func (c clock) Age(at, now time.Time) Stamp {
	return c.aged(at, "%s", now.Sub(at))
}

// text formats a time in the zone of the settings. The day stands before it unless it is that of now.
func (c clock) text(at, now time.Time, layout string) string {
	at, now = at.In(c.zone), now.In(c.zone)
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
