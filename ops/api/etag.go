package api

import "strings"

// The headers of versions, as in RFC 9110: a change with If-Match is made only if the version that it
// replaces is the one that was shown, or with * any; one with If-None-Match: * only if there is none.
const (
	etagHeader        = "ETag"
	ifMatchHeader     = "If-Match"
	ifNoneMatchHeader = "If-None-Match"
)

// What a change replaces, beside versions, as in [queue.CronSchedule].
const anyVersion, noVersion = "*", "!*"

// readCondition reads the headers that bind a change to a version.
func (q *request) readCondition() error {
	match, noneMatch := q.r.Header.Values(ifMatchHeader), q.r.Header.Values(ifNoneMatchHeader)
	name, values := ifMatchHeader, match
	if len(match) == 0 {
		name, values = ifNoneMatchHeader, noneMatch
	}
	version, opened := strings.CutPrefix(strings.Join(values, ", "), `"`)
	version, closed := strings.CutSuffix(version, `"`)
	switch {
	case len(values) == 0 || q.route.method == get:
	case !q.route.tagged:
		return invalidField(name, "what this request changes has no %s: leave it out", etagHeader)
	case len(match) > 0 && len(noneMatch) > 0:
		return invalidField(ifNoneMatchHeader, "it can't be combined with %s", ifMatchHeader)
	case len(match) == 0 && version == "*" && !opened:
		q.version = noVersion
	case len(match) == 0:
		return invalidField(ifNoneMatchHeader, "want *: the change is made only if there is nothing to replace")
	case version == "*" && !opened:
		q.version = anyVersion
	case !opened || !closed || version == "" || strings.ContainsAny(version, `"*`):
		return invalidField(ifMatchHeader, "want one %s as it was in an answer, with its quotes, or *", etagHeader)
	default:
		q.version = version
	}
	return nil
}
