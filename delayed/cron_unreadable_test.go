package delayed_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/delayed"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// A lines is a place for a log that can be waited for.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	select {
	case l <- string(b):
	default:
	}
	return len(b), nil
}

func TestSchedulesThatCannotBeReadAreSaidOnceAndHoldUpNoOther(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		s := newScene(t, db)
		good := s.everySecond("good")
		s.put(t, good)
		record := db.HGet(t.Context(), s.key("schedules"), "good").Val()
		bad := map[string]string{
			"garbage": "what is this?",
			"newer":   "9n4:kind1:k",
			"cut":     record[:len(record)-3],
			"zone":    strings.Replace(record, "3:UTC", "4:Mars", 1),
			"expr":    strings.Replace(record, "11:* * * * * *", "11:* * * * * x", 1),
			"digits":  strings.Replace(record, "4:kind", "00000000004:kind", 1),
		}
		for name, record := range bad {
			if record == db.HGet(t.Context(), s.key("schedules"), "good").Val() {
				t.Fatalf("%s is no other record", name)
			}
			if err := db.HSet(t.Context(), s.key("schedules"), name, record).Err(); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"garbage", "newer", "cut", "zone", "expr", "digits", "nothing"} {
			if err := db.ZAdd(t.Context(), s.key("schedules:due"), redis.Z{Score: 1, Member: name}).Err(); err != nil {
				t.Fatal(err)
			}
		}
		log := make(lines, 1000)
		stop := s.watch(t, db, delayed.CronConfig{Logger: slog.New(slog.NewTextHandler(log, nil))})
		s.jobs(t, 3)
		stop()
		close(log)
		said := map[string]int{}
		for line := range log {
			for name := range bad {
				if strings.Contains(line, "can't be read") && strings.Contains(line, "schedule="+name+" ") {
					said[name]++
				}
			}
		}
		for name := range bad {
			if said[name] != 1 {
				t.Errorf("%s: logged %d times, want once", name, said[name])
			}
			if name != "digits" && s.info(t, name).Err == nil {
				t.Errorf("%s is listed without an error", name)
			}
		}
		if info := s.info(t, "good"); info.Err != nil {
			t.Errorf("the good one has an error: %v", info.Err)
		}
		mended := s.daily("garbage")
		s.put(t, mended)
		if info := s.info(t, "garbage"); info.Err != nil || !info.Next.After(time.Now()) {
			t.Errorf("after it was added again: %+v", info)
		}
		if err := delayed.RemoveSchedule(t.Context(), s.client, s.queue.Name(), "cut"); err != nil {
			t.Errorf("a damaged one can't be removed: %v", err)
		}
	})
}
