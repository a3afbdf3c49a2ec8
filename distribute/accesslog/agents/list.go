package agents

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed data/crawlers.tsv
var listed string

// Source returns the name, version, date and licence of the list of crawlers.
func Source() string {
	source, _, _ := strings.Cut(listed, "\n")
	return source
}

// Classes returns the classes of crawlers in their order: an entry with several tags is in the first
// of them. The last one is that of entries without tags.
func Classes() []string { return slices.Clone(classes) }

var classes = []string{
	"ai-crawler", "search-engine", "social-preview", "feed-reader", "archiver", "academic", "advertising", "seo",
	"monitoring", "scanner", "browser-automation", "http-library", "crawler",
}

// A crawler is an entry of the list.
type crawler struct{ name, class, pattern string }

// crawlers returns the list, in its order.
var crawlers = sync.OnceValue(func() (list []crawler) {
	_, lines, _ := strings.Cut(listed, "\n")
	for line := range strings.Lines(lines) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		list = append(list, crawler{fields[0], fields[1], fields[2]})
	}
	return list
})

// browsers are the names of browsers; the first whose text is in the agent wins.
var browsers = []struct {
	name  string
	texts []string
}{
	{"Edge", []string{"Edg/", "EdgA/", "EdgiOS/", "Edge/"}},
	{"Opera", []string{"OPR/", "Opera", "OPiOS/", "OPT/", "OPX/"}},
	{"Samsung Internet", []string{"SamsungBrowser/"}},
	{"Firefox", []string{"Firefox/", "FxiOS/"}},
	{"Chrome", []string{"Chrome/", "CriOS/", "Chromium/"}},
	{"Safari", []string{"Safari/"}},
	{"Internet Explorer", []string{"MSIE ", "Trident/"}},
}

// Names that [Browser] returns for agents of crawlers, and of other programs.
const (
	BrowserCrawler = "crawler"
	BrowserOther   = "other"
)
