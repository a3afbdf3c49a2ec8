package dash

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"skidway/distribute"
	"skidway/distribute/chat"
	"skidway/internal/filter"
	"skidway/ops"
	"skidway/ops/access"
	"skidway/ops/dash/internal/words"
	"skidway/queue"
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

// setCookie sets a cookie for the dashboard's own path. Who has a session, whose cookie is secure, came by HTTPS,
// also if a proxy has ended that.
func (e *exchange) setCookie(name, value string, seconds int, hidden bool) {
	who := access.FromContext(e.request.Context())
	http.SetCookie(e.writer, &http.Cookie{
		Name: name, Value: value, Path: e.base + "/", MaxAge: seconds, HttpOnly: hidden, SameSite: http.SameSiteLaxMode, Secure: e.request.TLS != nil || who != nil && who.Session != "",
	})
}

// errorTexts are the texts of errors that packages return in words of their own.
var errorTexts = []struct {
	err error
	key string
}{
	{queue.ErrNoJob, "error.no_job"}, {queue.ErrNoSchedule, "error.no_schedule"}, {queue.ErrChanged, "error.changed"},
	{distribute.ErrNoChannel, "error.no_channel"}, {distribute.ErrNoSubscriber, "error.no_subscriber"}, {chat.ErrNoChat, "chats.no_chat"}, {chat.ErrNotMember, "error.no_member"},
}

// errorText returns an error in words that say what to do.
func errorText(err error) string {
	var (
		noQueue   *ops.NoQueueError
		duplicate *queue.DuplicateError
		wrong     *filter.Error
		window    *distribute.InvalidWindowError
	)
	for _, known := range errorTexts {
		if errors.Is(err, known.err) {
			return words.T(known.key)
		}
	}
	text := err.Error()
	switch {
	case errors.As(err, &noQueue):
		return words.T("error.no_queue", noQueue.Name)
	case errors.As(err, &duplicate) && duplicate.Owner != "":
		return words.T("error.duplicate", duplicate.Key, duplicate.Owner)
	case errors.As(err, &wrong):
		return words.T("error.filter", wrong.At, wrong.Message)
	case errors.As(err, &window):
		return words.T("error.window")
	case silent(err):
		return words.T("error.silent")
	case errors.Is(err, queue.ErrState):
		_, now, _ := strings.Cut(text, queue.ErrState.Error()+": ")
		return words.T("error.state_now", now)
	}
	invalid := queue.ErrInvalid.Error()
	return strings.TrimSuffix(strings.ReplaceAll(text, invalid+": ", ""), ": "+invalid)
}
