package dash

import (
	"encoding/base64"
	"encoding/json"
	"net/http"

	"skidway/ops/dash/internal/words"
)

// A message is what an action says at the top of the next page. It travels in a cookie, as a key
// of a text and its values, and is shown once.
type message struct {
	Rank string   `json:"r"` // ok, warn or bad
	Key  string   `json:"k"` // of a text
	Args []string `json:"a,omitempty"`
	Link string   `json:"l,omitempty"` // a path of the dashboard
	More string   `json:"m,omitempty"` // key of the link's text
}

// done returns the message of a change that succeeded.
func done(key string, args ...string) message { return message{Rank: "ok", Key: key, Args: args} }

const (
	messageCookie = "skidway-said"
	maxMessage    = 2048 // bytes of JSON; browsers refuse a cookie above 4 KiB
)

// say sets the message of the next page.
func (e *exchange) say(said message) {
	if said.Key == "" {
		return
	}
	var text []byte
	for bound := maxMessage; len(text) == 0 || len(text) > maxMessage; bound /= 2 { // some characters need six bytes in JSON
		for i, arg := range said.Args {
			said.Args[i] = words.Cut(arg, bound/len(said.Args))
		}
		text, _ = json.Marshal(said) // texts alone
	}
	e.setCookie(messageCookie, base64.RawURLEncoding.EncodeToString(text), 60, true)
}

// takeMessage returns the message of the last action, and removes it.
func (e *exchange) takeMessage() *message {
	cookie, err := e.request.Cookie(messageCookie)
	if err != nil {
		return nil
	}
	e.setCookie(messageCookie, "", -1, true)
	var said message
	text, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	known := words.Texts()
	if err != nil || json.Unmarshal(text, &said) != nil || known[said.Key] == "" || iconClasses[said.Rank] == "" || said.Link != "" && (known[said.More] == "" || !isPath(said.Link)) {
		return nil
	}
	return &said
}

// Text returns the message in words.
func (m *message) Text() string {
	values := make([]any, len(m.Args))
	for i, arg := range m.Args {
		values[i] = arg
	}
	return words.T(m.Key, values...)
}

// setCookie sets a cookie for the dashboard's own path.
func (e *exchange) setCookie(name, value string, seconds int, hidden bool) {
	http.SetCookie(e.writer, &http.Cookie{
		Name: name, Value: value, Path: e.base + "/", MaxAge: seconds, HttpOnly: hidden, SameSite: http.SameSiteLaxMode, Secure: e.request.TLS != nil,
	})
}
