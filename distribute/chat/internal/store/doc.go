// Package store has what group chats, mailboxes, conversations and rooms share:
// the checks of names and contents, the log of messages, the lists of chats that
// people have, waiting, and the Lua that their scripts include.
package store
