package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// A document is a page that people read: README.md, a page of docs, and what
// stands beside them.
type document struct {
	path   string // from the root of the module
	prose  string // the text without its blocks
	blocks []block
}

// text returns the prose and the blocks.
func (d document) text() string {
	text := d.prose
	for _, b := range d.blocks {
		text += b.text
	}
	return text
}

// A block is what stands between two fences.
type block struct{ language, text string }

// root of the module, as seen from this package.
const moduleRoot = "../.."

// readDocuments reads all documents.
func readDocuments(t testing.TB) []document {
	t.Helper()
	paths := []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"}
	pages, err := filepath.Glob(filepath.Join(moduleRoot, "docs", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages in docs: %v", err)
	}
	for _, page := range pages {
		paths = append(paths, "docs/"+filepath.Base(page))
	}
	var documents []document
	for _, path := range paths {
		text, err := os.ReadFile(filepath.Join(moduleRoot, path))
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, parseDocument(t, path, string(text)))
	}
	return documents
}

func parseDocument(t testing.TB, path, text string) document {
	t.Helper()
	d := document{path: path}
	open := false
	var prose strings.Builder
	for line := range strings.Lines(text) {
		language, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && !open:
			d.blocks = append(d.blocks, block{language: strings.TrimSpace(language)})
			open = true
		case fence:
			open = false
		case open:
			d.blocks[len(d.blocks)-1].text += line
		default:
			prose.WriteString(line)
		}
	}
	if open {
		t.Fatalf("%s: a block has no end", path)
	}
	d.prose = prose.String()
	return d
}

// languages are the kinds of blocks. Commands of console blocks are run, blocks
// that begin with the name of a file are written to it, and for commands of sh blocks
// their substitutes are run; the others are only shown.
var languages = []string{"console", "sh", "go", "yaml", "text"}

func TestBlocksOfDocumentsNameTheirLanguage(t *testing.T) {
	t.Parallel()
	for _, d := range readDocuments(t) {
		for _, b := range d.blocks {
			if !slices.Contains(languages, b.language) {
				t.Errorf("%s: a block of %q: use one of %q:\n%s", d.path, b.language, languages, b.text)
			}
			var value any
			if err := yaml.Unmarshal([]byte(b.text), &value); b.language == "yaml" && err != nil {
				t.Errorf("%s: %v", d.path, err)
			}
		}
	}
}

func TestReadmeIsShort(t *testing.T) {
	t.Parallel()
	file, err := os.Open(filepath.Join(moduleRoot, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := 0
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		lines++
	}
	if lines > 200 {
		t.Errorf("README.md has %d lines: 200 at most, the rest is for the pages of docs", lines)
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

func TestLinksOfDocumentsLeadToFilesAndHeadings(t *testing.T) {
	t.Parallel()
	for _, d := range readDocuments(t) {
		for _, found := range link.FindAllStringSubmatch(d.prose, -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			path, anchor, _ := strings.Cut(found[1], "#")
			target := filepath.Join(moduleRoot, filepath.Dir(d.path), path)
			if path == "" {
				target = filepath.Join(moduleRoot, d.path)
			}
			text, err := os.ReadFile(target)
			if info, statErr := os.Stat(target); err != nil && (statErr != nil || !info.IsDir() || anchor != "") {
				t.Errorf("%s: the link %s leads nowhere", d.path, found[1])
				continue
			}
			if anchor != "" && !slices.Contains(anchors(string(text)), anchor) {
				t.Errorf("%s: %s has no heading for the link %s", d.path, target, found[1])
			}
		}
	}
}

// anchors returns the names by which links find the headings of a text.
func anchors(text string) (list []string) {
	for _, found := range heading.FindAllStringSubmatch(text, -1) {
		name := strings.ToLower(strings.ReplaceAll(found[1], " ", "-"))
		list = append(list, regexp.MustCompile("[^a-z0-9_-]").ReplaceAllString(name, ""))
	}
	return list
}

// TestArchitectureNamesEveryPackage checks its table: all packages that others may
// import, and those of the root's folder internal.
func TestArchitectureNamesEveryPackage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(moduleRoot, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	packages, err := exec.Command("go", "list", "skidway/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(string(packages)) {
		name := strings.TrimPrefix(path, "skidway/")
		if strings.Contains(name, "/internal") || strings.HasPrefix(name, "scripts/") || strings.HasSuffix(name, "/generate") {
			continue
		}
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/architecture.md does not name the package %s", name)
		}
	}
}
