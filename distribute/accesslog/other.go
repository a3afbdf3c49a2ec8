package accesslog

import (
	"bytes"
	"path"
	"regexp"
	"strings"
	"sync"
)

// An OtherLogError is the error for a file that is known to be no access log. It wraps
// [ErrNoFormat].
type OtherLogError struct {
	Kind string // such as "an error log"
}

// Error returns a text that names the kind of file.
func (e *OtherLogError) Error() string { return "it is " + e.Kind + ", and no access log" }

// Unwrap returns ErrNoFormat.
func (e *OtherLogError) Unwrap() error { return ErrNoFormat }

type otherName struct {
	kind     string
	orAccess bool // with "access" in its name it may be an access log
	name     *regexp.Regexp
}

type otherLine struct {
	kind string
	line *regexp.Regexp
}

// otherNames are names of files that stand beside access logs. That of an error log ends with
// these words, but for a date, a number and the extension of a codec.
var otherNames = sync.OnceValue(func() []otherName {
	return []otherName{
		{"a connection log of a load balancer", false, regexp.MustCompile(`(^|_)conn_log[._]`)},
		{"a health check log of a load balancer", false, regexp.MustCompile(`(^|_)health_check_log[._]`)},
		{"a test file of a load balancer", false, regexp.MustCompile(`^ELBAccessLogTestFile`)},
		{"an error log", true, regexp.MustCompile(`(^|[-_.])error([-_.]log|s\.log|\.txt)([-_.](\d[\d:TZ]*|log|txt|old|bak|processed|tar|tgz|zip|gz|bz2|zst|xz|lz4|br|Z))*$`)},
		{"an index", false, regexp.MustCompile(`\.idx$`)},
		{"a storage log of Google Cloud Storage", false, regexp.MustCompile(`_storage_\d{4}_\d\d_\d\d_`)},
	}
})

// otherLines are the first lines of such files.
var otherLines = sync.OnceValue(func() []otherLine {
	return []otherLine{
		{"a connection log of a load balancer", regexp.MustCompile(`^\d{4}-\d\d-\d\dT[\d:.]+Z [0-9a-fA-F:.]+ \d{1,5} \d{1,5} (-|TLS)`)},
		{"a test file of a load balancer", regexp.MustCompile(`^Enable AccessLog for ELB: `)},
		{"an error log of nginx", regexp.MustCompile(`^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d \[[a-z]+\] \d+#\d+: `)},
		{"an error log of Apache", regexp.MustCompile(`^\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(\.\d+)? \d{4}\] \[`)},
		{"a storage log of Google Cloud Storage", regexp.MustCompile(`^"?bucket"?,"?storage_byte_hours"?`)},
	}
})

// OtherLog returns the kind of a file or object that is known to be no access log: by its
// name, which may be a path, and by its first lines, if there are any. It is empty if the
// file may be one.
func OtherLog(name string, lines [][]byte) string {
	name = path.Base(name)
	for _, other := range otherNames() {
		if other.name.MatchString(name) && !(other.orAccess && strings.Contains(name, "access")) {
			return other.kind
		}
	}
	for _, line := range lines {
		if line = trimStart(line); len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		for _, other := range otherLines() {
			if other.line.Match(line[:min(len(line), 200)]) {
				return other.kind
			}
		}
		break
	}
	return ""
}
