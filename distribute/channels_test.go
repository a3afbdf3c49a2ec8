package distribute_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"skidway/distribute"
	"skidway/distribute/chat"
	"skidway/distribute/chat/group"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestChannelsAreListedUntilTheyAreDeleted(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		ctx, folder := context.Background(), t.TempDir()
		web := open(t, db)
		if _, err := distribute.Open(ctx, handle.New(db), "api"); err != nil {
			t.Fatal(err)
		}
		if err := web.Subscribe(ctx, "s", ""); err != nil {
			t.Fatal(err)
		}
		ship(t, web, write(t, folder, "a", content(1, 100)))
		if _, err := distribute.NewBatch(handle.New(db), countryDay(t), nil).Run(ctx, []string{write(t, folder, "b", content(2, 100))}); err != nil {
			t.Fatal(err)
		}
		list, err := distribute.Channels(ctx, handle.New(db))
		if err != nil || len(list) != 2 || list[0].Name != "api" || list[1].Name != "web" {
			t.Fatalf("the channels are %+v, %v", list, err)
		}
		if got := list[1]; got.Files != 1 || got.Open != 1 || got.Subscribers != 1 || got.Bytes == 0 || got.Window != distribute.DefaultWindow || got.Used.IsZero() || got.Created.IsZero() {
			t.Errorf("web is %+v", got)
		}
		if got := list[0]; got.Files != 0 || got.Bytes != 0 || !got.Used.IsZero() {
			t.Errorf("api is %+v", got)
		}
		if err := web.Delete(ctx, false); err != nil {
			t.Fatal(err)
		}
		if list, err = distribute.Channels(ctx, handle.New(db)); err != nil || len(list) != 1 || list[0].Name != "api" {
			t.Errorf("after the deletion the channels are %+v, %v", list, err)
		}
		if _, err := distribute.OpenExisting(ctx, handle.New(db), "web"); !errors.Is(err, distribute.ErrNoChannel) {
			t.Errorf("the deleted channel opens with %v", err)
		}
		if keys := db.Keys(ctx, "*web*").Val(); len(keys) > 0 {
			t.Errorf("left behind: %v", keys)
		}
	})
}

func TestChannelInUseIsNotDeletedUnlessForced(t *testing.T) {
	t.Parallel()
	ctx, db := t.Context(), redistest.DB(t)
	channel, folder := open(t, db), t.TempDir()
	wantUsed := func(shippers int, subscribers ...string) {
		t.Helper()
		var used *distribute.InUseError
		if err := channel.Delete(ctx, false); !errors.As(err, &used) || len(used.Shippers) != shippers || !slices.Equal(used.Subscribers, subscribers) {
			t.Fatalf("deleting it: %v", err)
		}
	}
	following, stop := context.WithCancel(ctx)
	events, done := listen(), make(chan error, 1)
	go func() {
		done <- distribute.NewShipper(channel, &distribute.ShipperConfig{Notify: events.notify}).Follow(following, []string{write(t, folder, "a", content(1, 100))})
	}()
	events.await(t, distribute.EventShipped)
	wantUsed(1)
	stop()
	<-done
	work(t, channel, "s")
	wantUsed(0, "s")
	if err := channel.Delete(ctx, true); err != nil {
		t.Fatal(err)
	}
	if list, err := distribute.Channels(ctx, handle.New(db)); err != nil || len(list) != 0 {
		t.Errorf("the channels are %+v, %v", list, err)
	}
}

func TestNoPersonReadsTheAnnouncementsOfASubscriber(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		ctx, folder := context.Background(), t.TempDir()
		channel, lines := open(t, db), content(1, 100)
		if err := channel.Subscribe(ctx, "bob", ""); err != nil {
			t.Fatal(err)
		}
		ship(t, channel, write(t, folder, "a", lines))
		people := group.NewClient(handle.New(db))
		if batches, err := people.PendingAll(ctx, "bob", 0); err != nil || len(batches) > 0 {
			t.Errorf("bob reads %v, %v", batches, err)
		}
		var invalid *chat.InvalidError
		if _, err := people.Fetch(ctx, "logs:web", "bob", 0); !errors.As(err, &invalid) {
			t.Errorf("reading the chat of a channel: %v", err)
		}
		if err := people.Delete(ctx, "logs:web"); !errors.As(err, &invalid) {
			t.Errorf("deleting the chat of a channel: %v", err)
		}
		if _, err := people.PendingAll(ctx, "logs:bob", 0); !errors.As(err, &invalid) {
			t.Errorf("reading as a subscriber: %v", err)
		}
		if keys := db.Keys(ctx, "*:member:*").Val(); len(keys) > 0 {
			t.Errorf("a subscriber has a list of chats: %v", keys)
		}
		work(t, channel, "bob")
		same(t, counted(t, channel, "bob"), reference(t, lines))
		status, err := channel.Status(ctx)
		if err != nil || status.Subscribers[0].Pending != 0 {
			t.Errorf("status %+v, %v", status, err)
		}
	})
}

func TestChannelOfAnOlderFormatCanBeDeletedAndNothingElse(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		ctx := t.Context()
		channel := open(t, db)
		if err := channel.Subscribe(ctx, "s", ""); err != nil {
			t.Fatal(err)
		}
		ship(t, channel, write(t, t.TempDir(), "a", content(1, 100)))
		work(t, channel, "s")
		setVersion := func(version int) {
			t.Helper()
			if err := db.HSet(ctx, "skidway:logs:{web}", "v", version).Err(); err != nil {
				t.Fatal(err)
			}
		}
		var other *distribute.VersionError
		setVersion(99)
		if _, err := distribute.OpenToDelete(ctx, handle.New(db), "web"); !errors.As(err, &other) {
			t.Errorf("a newer format: %v", err)
		}
		setVersion(1)
		if _, err := distribute.OpenExisting(ctx, handle.New(db), "web"); !errors.As(err, &other) {
			t.Errorf("an older format: %v", err)
		}
		old, err := distribute.OpenToDelete(ctx, handle.New(db), "web")
		if err != nil {
			t.Fatal(err)
		}
		if err := old.Delete(ctx, true); err != nil {
			t.Fatal(err)
		}
		if keys := db.Keys(ctx, "*web*").Val(); len(keys) > 0 {
			t.Errorf("left behind: %v", keys)
		}
		if _, err := distribute.OpenToDelete(ctx, handle.New(db), "web"); !errors.Is(err, distribute.ErrNoChannel) {
			t.Errorf("opened again: %v", err)
		}
	})
}

func TestListOfChannelsDropsTheRowOfAnInterruptedDeletion(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		ctx := t.Context()
		open(t, db)
		if err := db.Del(ctx, "skidway:logs:{web}").Err(); err != nil {
			t.Fatal(err)
		}
		if list, err := distribute.Channels(ctx, handle.New(db)); err != nil || len(list) > 0 {
			t.Errorf("the channels are %+v, %v", list, err)
		}
		if left := db.Exists(ctx, "skidway:logs:channels").Val(); left != 0 {
			t.Error("the row stays")
		}
	})
}
