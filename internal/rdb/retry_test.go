package rdb_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestRetryEndsWhenPatienceIsUsedUp(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	db := open(t, server.URL(0), rdb.Options{Patience: 200 * time.Millisecond})
	server.Kill()
	tries, start := 0, time.Now()
	err := db.Retry(soon(t), func() error { tries++; return db.Ping(t.Context()).Err() })
	var unreachable *rdb.UnreachableError
	if !errors.As(err, &unreachable) || unreachable.Name != db.String() {
		t.Fatalf("the error is %v, want an UnreachableError that names %s", err, db)
	}
	if tries < 2 || time.Since(start) > patience/2 {
		t.Errorf("%d tries in %s", tries, time.Since(start))
	}
	// A Retry around a Retry reports the cause once.
	outer := db.Retry(soon(t), func() error { return err })
	if !errors.As(outer, &unreachable) || outer.Error() != err.Error() {
		t.Errorf("a Retry around it returned %v", outer)
	}
}

func TestRetryWithoutPatienceTriesOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	db := open(t, server.URL(0), rdb.Options{Patience: -1})
	server.Kill()
	tries := 0
	err := db.Retry(soon(t), func() error { tries++; return db.Ping(t.Context()).Err() })
	if err == nil || tries != 1 {
		t.Fatalf("%d tries, the error is %v", tries, err)
	}
}

func TestRetryOutlastsARestart(t *testing.T) {
	t.Parallel()
	ctx := soon(t)
	server := redistest.Start(t)
	db := open(t, server.URL(0), rdb.Options{})
	server.Kill()
	tries := 0
	err := db.Retry(ctx, func() error {
		if tries++; tries == 3 {
			if err := server.Restart(); err != nil {
				t.Error(err)
			}
		}
		return db.Set(ctx, "k", "v", 0).Err()
	})
	if err != nil || tries != 3 {
		t.Fatalf("%d tries, the error is %v", tries, err)
	}
}

func TestRetryEndsAtOnceWithItsContext(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	db := open(t, server.URL(0), rdb.Options{Patience: time.Hour})
	server.Kill()
	reason := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	start, tries := time.Now(), 0
	err := db.Retry(ctx, func() error {
		if tries++; tries == 2 {
			time.AfterFunc(time.Millisecond, func() { cancel(reason) }) // while it pauses
		}
		return db.Ping(t.Context()).Err()
	})
	if !errors.Is(err, reason) || time.Since(start) > patience {
		t.Fatalf("after %s the error is %v, want the cause", time.Since(start), err)
	}
}

func TestRetryLeavesOtherErrorsAlone(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	tries := 0
	err := db.Retry(soon(t), func() error { tries++; return db.Do(t.Context(), "NOSUCHCOMMAND").Err() })
	var unreachable *rdb.UnreachableError
	if err == nil || errors.As(err, &unreachable) || tries != 1 {
		t.Fatalf("%d tries, the error is %v", tries, err)
	}
}

func TestRetryWaitsForAServerThatRefusesForNow(t *testing.T) {
	t.Parallel()
	for _, refusal := range []string{"LOADING Redis is loading", "READONLY You can't write", "BUSY a script", "CLUSTERDOWN The cluster is down", "TRYAGAIN Multiple keys", "MASTERDOWN Link with MASTER is down", "NOREPLICAS Not enough good replicas to write."} {
		var asked atomic.Int64
		url := fake(t, func(command string) string {
			switch {
			case command != "INCR":
				return ""
			case asked.Add(1) < 3:
				return "-" + refusal + "\r\n"
			}
			return ":7\r\n"
		})
		db := open(t, url, rdb.Options{})
		var n int64
		err := db.Retry(soon(t), func() (err error) { n, err = db.Incr(t.Context(), "k").Result(); return err })
		if err != nil || n != 7 || asked.Load() != 3 {
			t.Errorf("%s: %d after %d tries, the error is %v", refusal, n, asked.Load(), err)
		}
	}
}
