package dash

import (
	"context"
	"crypto/rand"
	"net/http"
)

type nonceKey struct{}

// strictHeaders sets the headers of every answer. Only the script with the nonce of the answer
// runs, nothing comes from another host, and no script can insert HTML.
func strictHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		nonce := rand.Text()
		header := w.Header()
		header.Set("Content-Security-Policy", "default-src 'none'; script-src 'nonce-"+nonce+"'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
		header.Set("Referrer-Policy", "same-origin") // "no-referrer" makes forms send "Origin: null"
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), nonceKey{}, nonce)))
	})
}

// nonceOf returns the nonce of the script of an answer.
func nonceOf(r *http.Request) string {
	nonce, _ := r.Context().Value(nonceKey{}).(string)
	return nonce
}
