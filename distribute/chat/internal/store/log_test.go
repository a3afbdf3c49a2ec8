package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/chat"
	"skidway/internal/redistest"
)

func TestFewEntriesAreReadAheadWhereLargeOnesMayFollow(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, "embedded:")
	large := strings.Repeat("x", chat.MaxBody)
	for _, c := range []struct {
		ahead int
		small int   // entries before the large ones
		want  []int // entries that each command reads
	}{
		{FirstRead, 60, []int{4, 8, 16, 16, 16, 16}},
		{FirstRead, 0, []int{4}},
		{MaxRead, 1000, []int{64, 64, 64, 8}},
	} {
		var reads []int
		entries, err := ReadLog(t.Context(), db, c.ahead, 200, PageBytes, func(last string, n int64) *redis.XMessageSliceCmd {
			first := 1
			_, _ = fmt.Sscanf(last, "%d-0", &first)
			var page []redis.XMessage
			for i := range int(n) {
				body := "x"
				if first+i > c.small {
					body = large
				}
				page = append(page, redis.XMessage{ID: fmt.Sprint(first+i+1, "-0"), Values: map[string]any{"body": body}})
			}
			reads = append(reads, int(n))
			cmd := redis.NewXMessageSliceCmd(context.Background())
			cmd.SetVal(page)
			return cmd
		})
		if err != nil || !slices.Equal(reads, c.want) {
			t.Errorf("from %d on, after %d small ones: read %d, %v; want %d", c.ahead, c.small, reads, err, c.want)
		}
		if len(entries) > 200 {
			t.Errorf("%d entries", len(entries))
		}
	}
}
