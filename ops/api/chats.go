package api

import (
	"context"
	"time"

	"skidway/distribute/chat/group"
)

// A Chat is the state of a chat. Messages are not shown.
type Chat struct {
	ID      string           `json:"id"`
	Kind    string           `json:"kind"`
	Created time.Time        `json:"created,omitzero"`
	Last    uint64           `json:"last" jsonschema:"id of the newest message ever sent; 0: none was"`
	Oldest  uint64           `json:"oldest" jsonschema:"id of the oldest message that is kept; 0: none is"`
	Kept    uint64           `json:"kept" jsonschema:"messages in Redis"`
	Bytes   uint64           `json:"bytes" jsonschema:"of these"`
	Members List[ChatMember] `json:"members"`
}

// A ChatMember is a member of a chat.
type ChatMember struct {
	Name   string    `json:"name"`
	Cursor uint64    `json:"cursor" jsonschema:"id of the last message that it has acknowledged"`
	Unread uint64    `json:"unread"`
	Missed uint64    `json:"missed" jsonschema:"messages that were dropped unread"`
	Seen   time.Time `json:"seen,omitzero"`
}

// A ChatMembership is the state of one of a member's chats.
type ChatMembership struct {
	Chat   string `json:"chat"`
	Kind   string `json:"kind,omitzero"`
	Last   uint64 `json:"last"`
	Unread uint64 `json:"unread"`
	Missed uint64 `json:"missed"`
	Error  string `json:"error,omitzero" jsonschema:"why it can't be read; then all else is zero"`
}

func listChats(ctx context.Context, c *call) (any, error) {
	all, err := group.NewClient(c.db).Unread(ctx, c.query.Get("member"))
	if err != nil {
		return nil, err
	}
	return listOf(ctx, c, all, time.Time{}, func(m group.Membership) ChatMembership {
		answer := ChatMembership{Chat: m.Chat, Kind: string(m.Kind), Last: m.Last, Unread: m.Unread, Missed: m.Missed}
		if m.Err != nil {
			answer.Error = m.Err.Error()
		}
		return answer
	})
}

func showChat(ctx context.Context, c *call) (any, error) {
	chats, id := group.NewClient(c.db), c.values["chat"]
	info, err := chats.Info(ctx, id)
	if err != nil {
		return nil, err
	}
	members, err := chats.Members(ctx, id)
	if err != nil {
		return nil, err
	}
	list, err := listOf(ctx, c, members, time.Time{}, func(m group.Member) ChatMember {
		return ChatMember{m.Name, m.Cursor, m.Unread, m.Missed, utc(m.Seen)}
	})
	if err != nil {
		return nil, err
	}
	return Chat{id, string(info.Kind), utc(info.Created), info.Last, info.Oldest, info.Kept, info.Bytes, *list.(*List[ChatMember])}, nil
}
