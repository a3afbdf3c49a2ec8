package chat

// keys names every key of this package. Names in braces are hash tags: all
// keys of one chat lie on one slot of a Redis Cluster, all keys of one
// member's list on another. checkName keeps braces out of names.
type keys struct{ prefix string }

// group gives the keys that every script of a group chat is handed: the chat
// itself (hash), its log (stream) and its members' cursors (sorted set).
func (k keys) group(id string) []string {
	return []string{k.groupTag(id), k.groupLog(id), k.groupTag(id) + ":cursors"}
}

func (k keys) groupLog(id string) string { return k.groupTag(id) + ":log" }

func (k keys) groupTag(id string) string { return k.prefix + ":chat:{" + id + "}" }

// index gives the keys of a member's list: its chats (sorted set) and the
// stream that wakes its waiters when the list was written to.
func (k keys) index(member string) []string {
	tag := k.prefix + ":member:{" + member + "}"
	return []string{tag + ":chats", tag + ":wake"}
}
