package dash

import (
	"net/http"
	"strings"

	"skidway/ops/access"
	"skidway/ops/dash/internal/words"
)

// LoginPage writes the page with the form of the login, for [access.GateConfig].
func (d *Dash) LoginPage(w http.ResponseWriter, r *http.Request, form access.LoginForm) {
	strictHeaders(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := d.newPage(w, r, &route{})
		p.base = strings.TrimSuffix(r.URL.Path, "/login")
		p.Title, p.Status, p.Data = words.T("login.title"), form.Status, form
		p.write("login")
	})).ServeHTTP(w, r)
}
