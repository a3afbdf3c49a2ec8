// Command generate makes the list of crawlers of package agents: it fetches a pinned version of the
// npm package crawler-user-agents, names its entries, and writes data/crawlers.tsv, data/LICENSE and
// testdata/instances.tsv.gz. The output depends on the pins alone. Run it from the module's root:
//
//	go run ./distribute/accesslog/agents/generate
//
// To move to another version, change the pins here.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"skidway/internal/pinned"
)

var source = pinned.Package{
	Name:    "crawler-user-agents",
	Version: "1.60.0",
	SHA256:  "355ff319e17919f1738122752c8036d605d0e1bcba81de31e84377d12b286d79",
}

// published is when the version was published.
const published = "2026-08-10"

// classes are the tags of the list in the order in which one is chosen.
var classes = []string{
	"ai-crawler", "search-engine", "social-preview", "feed-reader", "archiver", "academic", "advertising", "seo",
	"monitoring", "scanner", "browser-automation", "http-library",
}

// An entry is one of the list.
type entry struct {
	Pattern         string
	Instances, Tags []string
}

func main() {
	dir := flag.String("dir", filepath.FromSlash("distribute/accesslog/agents"), "folder of the package")
	pinned.Main(func(ctx context.Context) error { return generate(ctx, *dir) })
}

func generate(ctx context.Context, dir string) error {
	files, err := source.Files(ctx, "crawler-user-agents.json", "LICENSE")
	if err != nil {
		return err
	}
	var entries []entry
	if err := json.Unmarshal(files[0], &entries); err != nil {
		return err
	}
	list, instances, err := tables(entries)
	if err != nil {
		return err
	}
	for path, content := range map[string][]byte{"data/crawlers.tsv": list, "data/LICENSE": files[1], "testdata/instances.tsv.gz": instances} {
		if err := pinned.Write(filepath.Join(dir, filepath.FromSlash(path)), content); err != nil {
			return err
		}
	}
	fmt.Printf("%d crawlers, %d bytes\n", len(entries), len(list))
	return nil
}

// tables returns the list, and the agents that it has as instances, each behind the name of the
// first entry that matches it.
func tables(entries []entry) (list, instances []byte, err error) {
	var lines, agents bytes.Buffer
	fmt.Fprintf(&lines, "%s %s of %s, MIT License\n", source.Name, source.Version, published)
	taken := map[string]bool{}
	var names []string
	var patterns []*regexp.Regexp
	for _, e := range entries {
		class, err := classOf(e.Tags)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", e.Pattern, err)
		}
		name, err := nameOf(e.Pattern)
		if err != nil {
			return nil, nil, err
		}
		unique := name
		for n := 2; taken[strings.ToLower(unique)]; n++ {
			unique = fmt.Sprintf("%s %d", name, n)
		}
		taken[strings.ToLower(unique)] = true
		fmt.Fprintf(&lines, "%s\t%s\t%s\n", unique, class, e.Pattern)
		names, patterns = append(names, unique), append(patterns, regexp.MustCompile(e.Pattern))
	}
	for _, e := range entries {
		for _, agent := range e.Instances {
			first := slices.IndexFunc(patterns, func(p *regexp.Regexp) bool { return p.MatchString(agent) })
			fmt.Fprintf(&agents, "%s\t%s\n", names[first], agent)
		}
	}
	var packed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err == nil {
		_, err = writer.Write(agents.Bytes())
	}
	if err == nil {
		err = writer.Close()
	}
	return lines.Bytes(), packed.Bytes(), err
}

func classOf(tags []string) (string, error) {
	for _, tag := range tags {
		if !slices.Contains(classes, tag) {
			return "", fmt.Errorf("tag %q has no place in the order of classes", tag)
		}
	}
	for _, class := range classes {
		if slices.Contains(tags, class) {
			return class, nil
		}
	}
	return "crawler", nil
}

// nameOf returns a name for a pattern: its literal parts.
func nameOf(pattern string) (string, error) {
	if _, err := regexp.Compile(pattern); err != nil {
		return "", err
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", err
	}
	var words []string
	for word := range strings.SplitSeq(text(parsed), "\x00") {
		if word = strings.Trim(word, " /;,.:()[]<>+'\"!@"); word != "" {
			words = append(words, word)
		}
	}
	name, _, _ := strings.Cut(strings.Join(words, " "), " (")
	if name == "" || strings.ContainsAny(name, "\t\n") || len(name) > 256 {
		return "", fmt.Errorf("pattern %s has no text for a name", pattern)
	}
	return name, nil
}

// maxNamedRunes bounds the characters of a class of which the first becomes a part of a name.
const maxNamedRunes = 2

// text returns the literal text of a pattern, of alternatives the first; NUL stands for the rest.
func text(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCapture:
		return text(re.Sub[0])
	case syntax.OpAlternate:
		return text(re.Sub[0])
	case syntax.OpConcat:
		var all strings.Builder
		for _, sub := range re.Sub {
			all.WriteString(text(sub))
		}
		return all.String()
	case syntax.OpCharClass:
		if runes := re.Rune; len(runes) == 2*maxNamedRunes && runes[0] == runes[1] && runes[2] == runes[3] {
			return string(runes[0])
		}
	}
	return "\x00"
}
