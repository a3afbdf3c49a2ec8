// Package look has the style sheet that the dashboard and the page of reports share.
package look

import _ "embed"

// Style is the style sheet.
//
//go:embed look.css
var Style string
