package chat

import "skidway/internal/rdb"

// NewRoomStretching is NewRoom with another slow hash.
func NewRoomStretching(db *rdb.DB, hash func(password string, salt []byte, rounds int) ([]byte, error)) *Room {
	r := NewRoom(db)
	r.stretch = hash
	return r
}
