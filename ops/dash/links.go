package dash

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"

	"skidway/internal/look"
	"skidway/ops"
)

// links are the addresses of a dashboard that is mounted under a path.
type links struct {
	base   string // the path
	assets *assets
}

// Link returns the address of a page of the dashboard from its path, where parts have been escaped.
func (l links) Link(path string) string { return l.base + path }

// QueueLink returns the address of a queue, or of a page or action below it.
func (l links) QueueLink(name, below string) string { return l.Link(queuePath(name, below)) }

// queuePath returns the path of a queue. Browsers remove "." and ".." from paths.
func queuePath(name, below string) string {
	if name == "." || name == ".." {
		return "/queues/-" + below + "?queue=" + name
	}
	return "/queues/" + url.PathEscape(name) + below
}

// JobLink returns the address of a job, or of an action below it.
func (l links) JobLink(id, below string) string { return l.Link(jobPath(id) + below) }

func jobPath(id string) string { return "/jobs/" + url.PathEscape(id) }

// Asset returns the address of a file of assets/.
func (l links) Asset(name string) string { return l.Link("/assets/" + l.assets.hashed[name]) }

// A Span is the time whose counts a page shows.
type Span struct {
	From, To Stamp  // To is empty if the page goes on with each count
	Steps    string // the width of the buckets, if they are wider than those of the range
	Fixed    string // the address that shows the same to others later; empty if the page has it
	Now      string // the address of the counts of now, empty if the page has it
	Lost     bool   // counts of the time that was asked for are not kept: these are the oldest ones
}

// until returns the time at which the counts of the page end by its address, and whether that has one.
func (p *page) until() (at time.Time, fixed bool, err error) {
	text := p.request.FormValue("to")
	if text == "" {
		return p.Now(), false, nil
	}
	if at, err = time.Parse(time.RFC3339, text); err != nil || at.Year() < 2000 {
		return at, false, &pageError{http.StatusBadRequest, "error.time"}
	}
	return at, true, nil
}

// with returns the address of this page with a value in its query, or without it if the value is empty.
func (e *exchange) with(name, value string) string {
	query := e.request.URL.Query()
	query.Set(name, value)
	if value == "" {
		query.Del(name)
	}
	address := url.URL{Path: e.request.URL.Path, RawPath: e.request.URL.RawPath, RawQuery: query.Encode()}
	return e.Link(address.String())
}

// span returns the span of a page that has the value "to" in its address.
func (p *page) span(from, to time.Time, fixed bool) Span {
	s := Span{From: p.Clock(from, p.Now()), To: p.ClockSeconds(to, p.Now())}
	if fixed { // with the day, because such a page is read later
		dated := func(at time.Time) Stamp { return p.stamp(at, at.In(p.zone).Format("2 Jan 15:04")) }
		s.From, s.To, s.Now = dated(from), dated(to), p.with("to", "")
	} else {
		s.Fixed = p.with("to", to.Add(time.Second-1).UTC().Format(time.RFC3339)) // with all of its last second
	}
	return s
}

// live lets the stream change the times in place.
func (s Span) live(p *page) Span {
	s.From = p.LiveTime("from", s.From)
	if s.To.Text != "" {
		s.To = p.LiveTime("to", s.To)
	}
	return s
}

// An Icon is a shape with its meaning.
type Icon struct {
	Class, Href string
	Label       string // for screen readers; empty if a word stands beside it
	Key         string // of a live one; empty for none
}

// iconClasses has the colour of the icons that have one.
var iconClasses = map[string]string{"bad": "bad", "warn": "warn", "ok": "ok", "pause": "hold", "run": "run"}

// Icon returns an icon of assets/icons.svg: bad, warn, ok, pause, run, wait, delay, dead, off, sq,
// up or down.
func (l links) Icon(name, label string) Icon {
	return Icon{Class: iconClasses[name], Href: l.Asset("icons.svg") + "#i-" + name, Label: label}
}

// GrayIcon returns an icon without a colour of its own.
func (l links) GrayIcon(name, label string) Icon {
	return Icon{Href: l.Asset("icons.svg") + "#i-" + name, Label: label}
}

// A Badge is a state in words, with its shape.
type Badge struct {
	Class, Text string
	Icon        Icon
	Key         string // of a live one; empty for none
}

// Badge returns a state with the icon of a name.
func (l links) Badge(icon, text string) Badge {
	drawn := l.Icon(icon, "")
	return Badge{Class: drawn.Class, Text: text, Icon: drawn}
}

// plainWord matches what a shell takes as it is.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// withFlags returns a command line with those flags of name and value in turn that have a value.
func withFlags(line []string, flags ...string) []string {
	for i := 0; i+1 < len(flags); i += 2 {
		if flags[i+1] != "" {
			line = append(line, "--"+flags[i], flags[i+1])
		}
	}
	return line
}

// argsWord returns args as a word of a command. Long ones, and those with hidden values, are "-", and input
// is what follows the command.
func argsWord(args string) (word, input string) {
	if len(args) > preview || strings.HasPrefix(args, "-") || strings.Contains(args, "\n") || strings.Contains(args, ops.Hidden) {
		return "-", " < args.json"
	}
	return args, ""
}

// command returns the command line of skidway that does what a page does. Words that a shell would not take
// as they are, such as names from Redis, are quoted.
func command(parts ...string) string {
	line := "skidway"
	for _, part := range parts {
		if !plainWord.MatchString(part) {
			part = "'" + strings.ReplaceAll(part, "'", `'\''`) + "'"
		}
		line += " " + part
	}
	return line
}

//go:embed assets/*.js assets/*.svg
var assetFiles embed.FS

// assets are the files that pages refer to. Their names have a hash of their content, so that
// browsers may keep them for good.
type assets struct {
	hashed map[string]string // name with hash by name
	files  map[string][]byte // by name with hash
}

// contentTypes are those of the files, by their extensions; the system has others.
var contentTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

func loadAssets() *assets {
	a := &assets{map[string]string{}, map[string][]byte{}}
	entries, _ := assetFiles.ReadDir("assets") // it is embedded
	for _, entry := range entries {
		content, _ := assetFiles.ReadFile("assets/" + entry.Name())
		a.add(entry.Name(), content)
	}
	a.add("dash.css", []byte(look.Style))
	return a
}

func (a *assets) add(name string, content []byte) {
	sum := sha256.Sum256(content)
	ext := path.Ext(name)
	hashed := strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:6]) + ext
	a.hashed[name], a.files[hashed] = hashed, content
}

func (a *assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	content, found := a.files[r.PathValue("name")]
	if !found {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", contentTypes[path.Ext(r.PathValue("name"))])
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(content)
}
