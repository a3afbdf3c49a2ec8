package api

import "strings"

// The headers of versions, as in RFC 9110: a change with If-Match is made only if the version that it
// replaces is the one that was shown.
const (
	etagHeader    = "ETag"
	ifMatchHeader = "If-Match"
)

// setVersion sets the header ETag.
func (c *call) setVersion(version string) { c.w.Header().Set(etagHeader, `"`+version+`"`) }

// wantedVersion returns the version in the header If-Match; "" if there is none.
func (c *call) wantedVersion() (string, error) {
	values := c.r.Header.Values(ifMatchHeader)
	if len(values) == 0 {
		return "", nil
	}
	version, opened := strings.CutPrefix(values[0], `"`)
	version, closed := strings.CutSuffix(version, `"`)
	if len(values) > 1 || !opened || !closed || version == "" || strings.Contains(version, `"`) {
		return "", invalidField(ifMatchHeader, "want one %s as it was in an answer, with its quotes", etagHeader)
	}
	return version, nil
}
