// Package handle converts between [skidway.DB], which is part of the public API, and the
// connection inside it, which the packages of this module use.
package handle

import (
	"skidway"
	"skidway/internal/rdb"
)

// Conn returns the connection of a handle.
func Conn(db *skidway.DB) *rdb.DB { return rdb.Unwrap(db) }

// New returns a handle of a connection. Closing either closes both.
func New(conn *rdb.DB) *skidway.DB { return rdb.Wrap(conn).(*skidway.DB) }
