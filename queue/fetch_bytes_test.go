package queue_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"skidway/internal/redistest"
	"skidway/queue"
)

// Jobs come from any client, so a fetch must keep its bounds whatever was added.
func TestFetchReturnsNoMoreThanItsBytesAndOneJobThoughLargeOnesFollowSmallOnes(t *testing.T) {
	const large, budget = 64 << 10, 64 << 10
	lines := map[string][]int{ // sizes of args, in the order of the jobs
		"15 small":               append(sizes(15, 10), sizes(60, large)...),
		"63 small":               append(sizes(63, 10), sizes(60, large)...),
		"many small":             append(sizes(700, 10), sizes(60, large)...),
		"medium between":         append(append(sizes(300, 10), sizes(40, 3000)...), sizes(60, large)...),
		"small before and after": append(append(sizes(300, 10), sizes(60, large)...), sizes(3000, 10)...),
		"large ones among small": slices.Repeat(append(sizes(30, 10), large), 20),
	}
	for name, line := range lines {
		for _, nativeFrom := range []int{1, 1000} {
			t.Run(fmt.Sprintf("%s, native from %d", name, nativeFrom), func(t *testing.T) {
				t.Parallel()
				d := setup(t, redistest.DB(t))
				d.client.SetNativeFrom(nativeFrom)
				_, err := d.db.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
					for _, size := range line { // as a program in another language does
						pipe.XAdd(t.Context(), &redis.XAddArgs{Stream: d.key("2:normal:fresh"), Values: []string{"kind", "k", "args", strings.Repeat("x", size)}})
					}
					return nil
				})
				d.must(err)
				l := d.lease("w")
				for fetched := 0; fetched < len(line); {
					result, err := l.Fetch(context.Background(), queue.FetchLimits{Jobs: 500, Bytes: budget})
					d.must(err)
					bytes := 0
					for _, job := range result.Jobs {
						bytes += len(job.Args)
					}
					if bytes > budget+large || len(result.Jobs) == 0 {
						t.Fatalf("%d jobs of %d bytes after %d jobs", len(result.Jobs), bytes, fetched)
					}
					fetched += len(result.Jobs)
				}
			})
		}
	}
}

// sizes returns n times a size.
func sizes(n, size int) []int { return slices.Repeat([]int{size}, n) }
