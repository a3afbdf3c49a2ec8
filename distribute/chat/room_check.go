package chat

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// checkSpan wants a length of time that Redis can measure.
func checkSpan(field string, d time.Duration) error {
	if d < time.Millisecond {
		return &InvalidError{field, d.String(), "want a length of time of at least a millisecond"}
	}
	return nil
}

func checkMax(n int) error {
	if n < 0 || uint64(n) > lastExact { // scripts know no number beyond
		return &InvalidError{"max", strconv.Itoa(n), "want a number of people, or 0 for no limit"}
	}
	return nil
}

func checkKeep(n int) error {
	if n < 1 || n > MaxRoomKeep {
		return &InvalidError{"keep", strconv.Itoa(n), fmt.Sprintf("want a number of messages from 1 to %d", MaxRoomKeep)}
	}
	return nil
}

func checkOwner(id string) error {
	if id == "" {
		return nil
	}
	return checkName("owner", id)
}

func checkPassword(password string) error {
	if len(password) > MaxPassword {
		return &InvalidError{"password", "", fmt.Sprintf("it has %d bytes, more than %d", len(password), MaxPassword)}
	}
	return nil
}

// checkRoomContent refuses what is neither a text nor an image, audio or video
// that lies behind its URL.
func checkRoomContent(c *Content) error {
	if c.Type != "" && c.Type != TypeText && !c.media() {
		return &InvalidError{"type", c.Type, "a room takes text, image, audio and video"}
	}
	if err := c.checkNew(MaxText); err != nil {
		return err
	}
	if u, err := url.Parse(c.URL); err == nil && strings.EqualFold(u.Scheme, "data") {
		return &InvalidError{"url", c.URL, "it holds the data itself: put that elsewhere and send the URL of it"}
	}
	return nil
}
