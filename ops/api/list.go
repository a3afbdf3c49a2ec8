package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

// Bounds of lists.
const (
	defaultLimit  = 50
	maxLimit      = 500
	maxCursorSize = 200
	cursorTagSize = 6
)

// cursorTag is part of a cursor and distinguishes lists: it depends on the path and on all parameters
// but limit.
func (q *request) cursorTag() []byte {
	query := q.r.URL.Query()
	query.Del("limit")
	query.Del("cursor")
	sum := sha256.Sum256([]byte(q.r.URL.EscapedPath() + "?" + query.Encode()))
	return sum[:cursorTagSize]
}

// next returns the cursor for a position in the list; "" for "".
func (q *request) next(position string) string {
	if position == "" {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(append(q.cursorTag(), position...))
}

// listPart returns which part of a list was asked for: the position in it that the parameter cursor stands for, ""
// for the start, and the parameter limit.
func (q *request) listPart() (position string, limit int, err error) {
	if text := q.query.Get("cursor"); len(text) > maxCursorSize {
		return "", 0, problem("bad-cursor", "it is longer than %d bytes", maxCursorSize)
	} else if text != "" {
		data, err := base64.RawURLEncoding.Strict().DecodeString(text)
		if err != nil || len(data) <= cursorTagSize || !bytes.HasPrefix(data, q.cursorTag()) {
			return "", 0, problem("bad-cursor", "use a cursor with the path and the parameters of the list that it is from")
		}
		position = string(data[cursorTagSize:])
	}
	limit, err = q.number("limit", 1, maxLimit, defaultLimit)
	return position, limit, err
}

// A pageOf is a part of a list that is in memory.
type pageOf struct {
	from, to int
	next     string
}

// page returns the part of a list of n entries that was asked for.
func (q *request) page(n int) (p pageOf, err error) {
	position, limit, err := q.listPart()
	if err != nil {
		return p, err
	}
	if position != "" {
		if p.from, err = strconv.Atoi(strings.TrimPrefix(position, "+")); err != nil || p.from < 0 {
			return p, problem("bad-cursor", "it is damaged")
		}
	}
	p.from = min(p.from, n)
	p.to = min(p.from+limit, n)
	if p.to < n {
		p.next = q.next("+" + strconv.Itoa(p.to))
	}
	return p, nil
}

// listOf returns a page of a list that is in memory, with each entry in the form of the answer. A
// zero time is that of Redis.
func listOf[T, A any](ctx context.Context, c *call, all []T, asOf time.Time, form func(T) A) (any, error) {
	p, err := c.page(len(all))
	if err != nil {
		return nil, err
	}
	if asOf.IsZero() {
		if asOf, err = c.now(ctx); err != nil {
			return nil, err
		}
	}
	list := &List[A]{Items: []A{}, Next: p.next, LookedAt: p.to - p.from, Complete: p.next == "", AsOf: utc(asOf)}
	for _, one := range all[p.from:p.to] {
		list.Items = append(list.Items, form(one))
	}
	return list, nil
}
