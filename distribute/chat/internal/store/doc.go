// Package store has the code that group chats, mailboxes, conversations and rooms
// share: checks of names and contents, the log of messages, the list of a person's
// chats, waiting, and the Lua that their scripts include.
package store
