package agents_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"skidway/distribute/accesslog/agents"
)

//go:embed data/crawlers.tsv
var list string

// instances has agents that the list names, each behind the name of its first match, for which the
// generator has tried every pattern.
//
//go:embed testdata/instances.tsv.gz
var instances []byte

// An entry is one of the list, compiled.
type entry struct {
	name, class string
	pattern     *regexp.Regexp
}

var entries = sync.OnceValue(func() (all []entry) {
	for _, line := range strings.Split(strings.TrimSpace(list), "\n")[1:] {
		fields := strings.SplitN(line, "\t", 3)
		all = append(all, entry{fields[0], fields[1], regexp.MustCompile(fields[2])})
	}
	return all
})

// loop tries each pattern of the list, in its order.
func loop(agent []byte) (name, class string) {
	for _, e := range entries() {
		if e.pattern.Match(agent) {
			return e.name, e.class
		}
	}
	return "", ""
}

// An instance is an agent that the list names, and its first match.
type instance struct {
	name  string
	agent []byte
}

func listedAgents(t testing.TB) (all []instance) {
	t.Helper()
	reader, err := gzip.NewReader(bytes.NewReader(instances))
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(reader)
	for lines.Scan() {
		name, agent, _ := bytes.Cut(lines.Bytes(), []byte("\t"))
		all = append(all, instance{string(name), bytes.Clone(agent)})
	}
	if err := lines.Err(); err != nil || len(all) < 2000 {
		t.Fatalf("%d agents: %v", len(all), err)
	}
	return all
}

// people are agents of browsers.
var people = []struct{ agent, browser string }{
	{"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0", "Edge"},
	{"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 OPR/120.0.0.0", "Opera"},
	{"Opera/9.80 (Windows NT 6.1; U; en) Presto/2.12.388 Version/12.18", "Opera"},
	{"Mozilla/5.0 (Linux; Android 14; SAMSUNG SM-S918B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36", "Samsung Internet"},
	{"Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0", "Firefox"},
	{"Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) FxiOS/145.0 Mobile/15E148 Safari/605.1.15", "Firefox"},
	{"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36", "Chrome"},
	{"Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1", "Safari"},
	{"Mozilla/5.0 (Windows NT 6.1; Trident/7.0; rv:11.0) like Gecko", "Internet Explorer"},
	{"", "other"},
	{"-", "other"},
	{"Roku/DVP-14.5 (14.5.0)", "other"},
}

func TestEveryAgentOfTheListIsItsFirstMatch(t *testing.T) {
	t.Parallel()
	classes := map[string]string{}
	for _, e := range entries() {
		classes[e.name] = e.class
	}
	for _, listed := range listedAgents(t) {
		if name, class := agents.Match(listed.agent); name != listed.name || class != classes[name] || name == "" {
			t.Errorf("%s: %q of class %q, want %q", listed.agent, name, class, listed.name)
		}
		if browser := agents.Browser(listed.agent); browser != "crawler" {
			t.Errorf("%s: browser %q, want crawler", listed.agent, browser)
		}
	}
}

func TestBrowsersOfPeople(t *testing.T) {
	t.Parallel()
	for _, p := range people {
		if name, class := agents.Match([]byte(p.agent)); name != "" || class != "" {
			t.Errorf("%s: crawler %q of class %q, want people", p.agent, name, class)
		}
		if browser := agents.Browser([]byte(p.agent)); browser != p.browser {
			t.Errorf("%s: %s, want %s", p.agent, browser, p.browser)
		}
	}
}

func TestNamesOfTheListAreUnique(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, e := range entries() {
		if folded := strings.ToLower(e.name); seen[folded] || e.name == "-" || strings.HasPrefix(e.name, "(") || len(e.name) > 256 {
			t.Errorf("name %q of %s", e.name, e.pattern)
		} else {
			seen[folded] = true
		}
		if !slices.Contains(agents.Classes(), e.class) {
			t.Errorf("%s is of class %q, which Classes lacks", e.name, e.class)
		}
	}
	if len(entries()) < 1500 {
		t.Errorf("%d entries", len(entries()))
	}
}

func TestAiCrawlerComesBeforeOtherTags(t *testing.T) {
	t.Parallel()
	// Both also have the tag search-engine.
	for _, agent := range []string{"OAI-SearchBot/1.0", "PerplexityBot/1.0"} {
		if _, class := agents.Match([]byte(agent)); class != "ai-crawler" {
			t.Errorf("%s is of class %q", agent, class)
		}
	}
}

func TestAgentsAllocateNothing(t *testing.T) {
	agent := []byte(people[0].agent)
	var f agents.Finder
	if n := testing.AllocsPerRun(100, func() { agents.Match(agent); agents.Browser(agent); f.Number(agent) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestFinderNumbersWhatMatchAndBrowserReturn(t *testing.T) {
	t.Parallel()
	var f agents.Finder
	names, random := map[int]string{}, rand.New(rand.NewPCG(1, 2))
	check := func(agent []byte) {
		number := f.Number(agent)
		crawler, class := agents.Match(agent)
		name := fmt.Sprint(crawler, class, agents.Browser(agent))
		if before, seen := names[number]; seen && before != name {
			t.Fatalf("%s has the number %d of %s, and is %s", agent, number, before, name)
		}
		names[number] = name
	}
	for _, listed := range listedAgents(t) {
		check(listed.agent)
		check(bytes.Repeat(listed.agent, 4))
		check(slices.Concat(listed.agent[:random.IntN(len(listed.agent)+1)], []byte(people[random.IntN(len(people))].agent)))
	}
	if len(names) < 1000 {
		t.Errorf("%d numbers", len(names))
	}
}

func FuzzMatchIsTheFirstPatternOfALoop(f *testing.F) {
	for i, listed := range listedAgents(f) {
		if i%100 == 0 {
			f.Add(listed.agent)
		}
	}
	for _, agent := range []string{"a sentry/1", "xsentry/1", "AdsBot-Google-", "AdsBot-Google\xff", "Spider\nspider.com", "SSL Labs", "SSL Labs ", "curl", " curl", "BlogTraffic/1.23 Feed-Fetcher"} {
		f.Add([]byte(agent))
	}
	f.Fuzz(func(t *testing.T, agent []byte) {
		wantName, wantClass := loop(agent)
		if name, class := agents.Match(agent); name != wantName || class != wantClass {
			t.Errorf("%q: %q of class %q, want %q, %q", agent, name, class, wantName, wantClass)
		}
	})
}

// BenchmarkMatch measures the time for an agent that was never seen.
func BenchmarkMatch(b *testing.B) {
	var f agents.Finder
	for name, find := range map[string]func(agent []byte){
		"alone": func(agent []byte) { agents.Match(agent) }, "behind others": func(agent []byte) { f.Number(agent) },
	} {
		b.Run(name, func(b *testing.B) {
			find(nil)
			agent := []byte("Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/000000000 Safari/537.36")
			digits := agent[bytes.IndexByte(agent, '0')+len("0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/")-1:][:9]
			for i := 0; b.Loop(); i++ {
				for at, n := len(digits)-1, i; at >= 0; at, n = at-1, n/10 {
					digits[at] = '0' + byte(n%10)
				}
				find(agent)
			}
		})
	}
}
