package bench

import (
	"context"
	"fmt"

	"skidway/distribute/chat"
)

func (b *chatBench) measureMailbox(ctx context.Context) error {
	mail := chat.NewMailbox(b.db)
	err := b.rates(ctx, b.figures, "mailbox_", 1,
		func(ctx context.Context, _ int) error {
			_, err := mail.Send(ctx, chatID, "ann", b.content())
			return err
		}, nil,
		func(ctx context.Context, _ int) (int, error) {
			messages, err := mail.Take(ctx, chatID, benchPage)
			return len(messages), err
		})
	if err != nil {
		return fmt.Errorf("measure a mailbox: %w", err)
	}
	return nil
}

func (b *chatBench) measureConversation(ctx context.Context) error {
	pair := chat.NewConversation(b.db, chat.ConversationConfig{Keep: uint64(b.messages), MaxUnread: uint64(b.messages)})
	err := b.rates(ctx, b.figures, "conversation_", 1,
		func(ctx context.Context, _ int) error {
			_, err := pair.Send(ctx, "ann", "bob", b.content())
			return err
		}, nil,
		func(ctx context.Context, _ int) (int, error) {
			page, err := pair.Read(ctx, "bob", "ann", benchPage)
			return len(page.Messages), err
		})
	if err != nil {
		return fmt.Errorf("measure a conversation: %w", err)
	}
	return nil
}

func (b *chatBench) measureRoom(ctx context.Context) error {
	room := chat.NewRoom(b.db)
	if err := room.Create(ctx, chatID, chat.RoomOptions{Keep: int(b.messages)}); err != nil {
		return err
	}
	pass, err := room.Enter(ctx, chatID, chat.EnterOptions{ID: "ann"})
	if err != nil {
		return err
	}
	since := uint64(0)
	err = b.rates(ctx, b.figures, "room_", 1,
		func(ctx context.Context, _ int) error {
			_, err := room.Send(ctx, pass, b.content())
			return err
		}, nil,
		func(ctx context.Context, _ int) (int, error) {
			news, err := room.Read(ctx, pass, since, benchPage)
			since = news.Position
			return len(news.Messages), err
		})
	if err != nil {
		return fmt.Errorf("measure a room: %w", err)
	}
	return room.Delete(ctx, pass)
}
