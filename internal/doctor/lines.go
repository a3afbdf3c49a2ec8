package doctor

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// lineFormat is the format of the lines that package queue uses, which is part of their
// names. A test compares them.
const lineFormat = "2"

// A strayLine is a line of another format that holds entries.
type strayLine struct {
	key     string
	entries int64
}

// lineFacts are the lines of other formats on one server.
type lineFacts struct {
	stray   []strayLine
	partial bool // maxScans was reached before all keys were examined
}

// maxScans bounds the number of SCAN commands, of scanKeys keys each.
const (
	maxScans = 1000
	scanKeys = 1000
)

// linesOf finds lines of other formats. It returns nil if the user may not run SCAN. The
// error is one of the connection.
func linesOf(ctx context.Context, client *redis.Client, prefix string) (*lineFacts, error) {
	// The lines of format 1 have no number in their names.
	line := regexp.MustCompile(`^` + regexp.QuoteMeta(prefix) + `:\{[^{}]+:\d+\}:(?:(\d+):)?(?:high|normal|low):\w+$`)
	found := &lineFacts{}
	var keys []string
	for cursor, scans := uint64(0), 0; ; scans++ {
		page, next, err := client.ScanType(ctx, cursor, globQuote(prefix)+":{*}:*", scanKeys, "stream").Result()
		switch {
		case err != nil && isReply(err):
			return nil, nil
		case err != nil:
			return nil, err
		}
		for _, key := range page {
			if format := line.FindStringSubmatch(key); format != nil && format[1] != lineFormat {
				keys = append(keys, key)
			}
		}
		if cursor = next; cursor == 0 || scans == maxScans {
			found.partial = cursor != 0
			break
		}
	}
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) { // SCAN may return a key twice
		n, err := client.XLen(ctx, key).Result()
		if err != nil && !isReply(err) {
			return nil, err
		}
		if n > 0 {
			found.stray = append(found.stray, strayLine{key, n})
		}
	}
	return found, nil
}

// globQuote quotes a text for use in a pattern of SCAN.
func globQuote(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(text)
}

// maxNamed bounds the number of lines that one finding names.
const maxNamed = 10

// strayLines judges lines of other formats, to which a client in another language may
// still add jobs.
func (f *facts) strayLines() []Finding {
	looked := ""
	if f.lines.partial {
		looked = fmt.Sprintf(", among about %d keys; there are more", maxScans*scanKeys)
	}
	if len(f.lines.stray) == 0 {
		return []Finding{{Found: "no line of another format than " + lineFormat + " holds entries" + looked}}
	}
	var named []string
	for _, line := range f.lines.stray[:min(maxNamed, len(f.lines.stray))] {
		named = append(named, fmt.Sprintf("%s (%d entries)", line.key, line.entries))
	}
	if more := len(f.lines.stray) - len(named); more > 0 {
		named = append(named, fmt.Sprintf("%d more", more))
	}
	return []Finding{{
		Level: Problem, Found: "lines of another format than " + lineFormat + " hold entries: " + strings.Join(named, ", ") + looked,
		Why: "no worker of this release runs these jobs; another release, or a client in another language, has added them",
		Change: []string{
			"let every client that adds jobs by XADD use the names in docs/wire-format.md",
			"let a worker of the release that these lines belong to run their jobs, or add them again",
		},
	}}
}
