package chat

import "strings"

// keys names every key of this package. Names in braces are hash tags: all
// keys of one chat, box, pair or room lie on one slot of a Redis Cluster, all
// keys of one person's list on another. checkName keeps braces out of names.
type keys struct{ prefix string }

// group gives the keys that every script of a group chat is handed: the chat
// itself (hash), its log (stream), its members' cursors and when they were last
// here (sorted sets).
func (k keys) group(id string) []string {
	return []string{k.groupTag(id), k.groupLog(id), k.groupTag(id) + ":cursors", k.groupTag(id) + ":seen"}
}

func (k keys) groupLog(id string) string { return k.groupTag(id) + ":log" }

func (k keys) groupTag(id string) string { return k.prefix + ":chat:{" + id + "}" }

// groupNumbers is where the next free id of a group chat comes from.
func (k keys) groupNumbers() string { return k.prefix + ":{chats}:last" }

// mailbox gives the keys that every script of a mailbox is handed: the box
// itself (hash), its log (stream), what was dropped of it and what in it is big
// (sorted sets).
func (k keys) mailbox(box string) []string {
	return []string{k.mailboxTag(box), k.mailboxLog(box), k.mailboxTag(box) + ":dropped", k.mailboxTag(box) + ":big"}
}

func (k keys) mailboxLog(box string) string { return k.mailboxTag(box) + ":log" }

func (k keys) mailboxTag(box string) string { return k.prefix + ":mail:{" + box + "}" }

// conversation gives the keys that every script of a conversation is handed:
// the pair itself (hash) and its log (stream).
func (k keys) conversation(p pair) []string {
	return []string{k.conversationTag(p), k.conversationLog(p)}
}

func (k keys) conversationLog(p pair) string { return k.conversationTag(p) + ":log" }

func (k keys) conversationTag(p pair) string { return k.prefix + ":dm:{" + p.String() + "}" }

// room gives the keys that every script of a room is handed: the room itself
// (hash), its log (stream), who is in it (sorted set), their nicknames (hash)
// and who is muted (sorted set).
func (k keys) room(name string) []string {
	tag := k.roomTag(name)
	return []string{tag, k.roomLog(name), tag + ":people", tag + ":nicks", tag + ":mutes"}
}

func (k keys) roomLog(name string) string { return k.roomTag(name) + ":log" }

func (k keys) roomTag(name string) string { return k.prefix + ":room:{" + name + "}" }

// chats gives the keys of the list of group chats that a member is in: the list
// (sorted set) and the stream that wakes its waiters when it was written to.
func (k keys) chats(member string) []string {
	tag := k.prefix + ":member:{" + member + "}"
	return []string{tag + ":chats", tag + ":wake"}
}

// peers gives the keys of the list of people that a person has a conversation
// with, as chats does.
func (k keys) peers(person string) []string {
	tag := k.prefix + ":person:{" + person + "}"
	return []string{tag + ":peers", tag + ":wake"}
}

// A pair is two people, in order.
type pair struct{ first, second string }

func pairOf(a, b string) pair { return pair{min(a, b), max(a, b)} }

// escape keeps names apart that a '/' joins.
var escape = strings.NewReplacer("%", "%25", "/", "%2F")

// String gives a name that no other pair has.
func (p pair) String() string { return escape.Replace(p.first) + "/" + escape.Replace(p.second) }
