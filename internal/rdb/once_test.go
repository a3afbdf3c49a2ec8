package rdb_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// appends returns commands that append an entry each to a stream.
func appends(t *testing.T, key string, n int) (commands []redis.Cmder, replies []*redis.StringCmd) {
	for range n {
		c := redis.NewStringCmd(t.Context(), "XADD", key, "*", "a", "b")
		commands, replies = append(commands, c), append(replies, c)
	}
	return commands, replies
}

func TestCommandsSentOnceHaveTheirOwnRepliesAndErrors(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		ctx, key := soon(t), db.Prefix()+":{s}"
		for n := range 3 {
			commands, replies := appends(t, key, n)
			db.SendOnce(ctx, "add", key, commands)
			for i, reply := range replies {
				if reply.Err() != nil || reply.Val() == "" {
					t.Errorf("%d of %d: %q, %v", i, n, reply.Val(), reply.Err())
				}
			}
		}
		none := redis.NewStringCmd(ctx, "XADD", key+":none", "NOMKSTREAM", "*", "a", "b")
		wrong := redis.NewStringCmd(ctx, "XADD", key, "1-1", "a", "b")
		commands, replies := appends(t, key, 1)
		db.SendOnce(ctx, "add", key, append(commands, none, wrong))
		if replies[0].Err() != nil || !errors.Is(none.Err(), redis.Nil) || wrong.Err() == nil || !strings.HasPrefix(wrong.Err().Error(), "add: ERR") {
			t.Errorf("%v, %v, %v", replies[0].Err(), none.Err(), wrong.Err())
		}
		if n := db.XLen(ctx, key).Val(); n != 4 {
			t.Errorf("%d entries, want 4", n)
		}
	})
}

func TestCommandsThatWereCertainlyNotRunAreSentAgain(t *testing.T) {
	t.Parallel()
	for _, refusal := range []string{"READONLY You can't write against a read only replica.", "LOADING Redis is loading the dataset in memory"} {
		sent := atomic.Int64{}
		db := open(t, fake(t, func(command string) string {
			if command != "XADD" {
				return ""
			}
			if n := sent.Add(1); n == 2 || n == 4 {
				return "-" + refusal + "\r\n"
			}
			return bulk(fmt.Sprint(sent.Load(), "-0"))
		}), rdb.Options{})
		commands, replies := appends(t, "s", 3)
		db.SendOnce(soon(t), "add", "s", commands)
		for i, want := range []string{"1-0", "5-0", "3-0"} { // the second was refused twice
			if replies[i].Val() != want || replies[i].Err() != nil {
				t.Errorf("reply %d is %q, %v, want %s", i, replies[i].Val(), replies[i].Err(), want)
			}
		}
	}
}

func TestCommandsWhoseRepliesAreLostAreNotSentAgain(t *testing.T) {
	t.Parallel()
	proxy := redistest.StartProxy(t, redistest.URL(t))
	db := open(t, proxy.URL, rdb.Options{})
	for lost := 1; lost <= 3; lost++ {
		key := fmt.Sprint("s", lost)
		commands, replies := appends(t, key, 3)
		dropped := proxy.DropReply(lost)
		db.SendOnce(soon(t), "add it", key, commands)
		<-dropped
		for i, reply := range replies {
			var unknown *rdb.OutcomeUnknownError
			if i < lost-1 {
				if reply.Err() != nil || reply.Val() == "" {
					t.Errorf("reply %d came before the lost one: %q, %v", i, reply.Val(), reply.Err())
				}
			} else if !errors.As(reply.Err(), &unknown) || unknown.Op != "add it" || reply.Val() != "" {
				t.Errorf("reply %d: %q, %v, want an OutcomeUnknownError", i, reply.Val(), reply.Err())
			}
		}
		if n := db.XLen(soon(t), key).Val(); n != 3 {
			t.Errorf("%d entries, want 3: each was added once", n)
		}
	}
}

func TestALostCommandIsNotSentAgainWithARefusedOne(t *testing.T) {
	t.Parallel()
	sent := atomic.Int64{}
	db := open(t, fake(t, func(command string) string {
		switch {
		case command != "XADD":
			return ""
		case sent.Add(1) == 1:
			return "-LOADING Redis is loading the dataset in memory\r\n"
		case sent.Load() == 2:
			return hangUp
		}
		return bulk("1-0")
	}), rdb.Options{})
	commands, replies := appends(t, "s", 2)
	db.SendOnce(soon(t), "add", "s", commands)
	var unknown *rdb.OutcomeUnknownError
	if replies[0].Val() != "1-0" || replies[0].Err() != nil || !errors.As(replies[1].Err(), &unknown) || sent.Load() != 3 {
		t.Errorf("%q, %v and %v after %d commands", replies[0].Val(), replies[0].Err(), replies[1].Err(), sent.Load())
	}
}

func TestCommandsFollowTheSlotToAnotherNode(t *testing.T) {
	t.Parallel()
	db := redistest.ClusterDB(t)
	ctx, cluster := soon(t), db.UniversalClient.(*redis.ClusterClient)
	key := db.Prefix() + ":{s}"
	home, err := cluster.MasterForKey(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := ""
	for i := 0; elsewhere == ""; i++ {
		other := fmt.Sprintf("%s:{%d}", db.Prefix(), i)
		if node, err := cluster.MasterForKey(ctx, other); err != nil {
			t.Fatal(err)
		} else if node != home {
			elsewhere = other
		}
	}
	commands, replies := appends(t, key, 3)
	db.SendOnce(ctx, "add", elsewhere, commands) // as if the slot had moved
	for i, reply := range replies {
		if reply.Err() != nil || reply.Val() == "" {
			t.Errorf("reply %d: %q, %v", i, reply.Val(), reply.Err())
		}
	}
	if n := db.XLen(ctx, key).Val(); n != 3 {
		t.Errorf("%d entries, want 3", n)
	}
}
