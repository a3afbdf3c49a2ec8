package redistest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// slotCheck fails a test when a script is given keys with different hash tags,
// which a Redis Cluster would refuse.
type slotCheck struct{ t testing.TB }

func (slotCheck) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c slotCheck) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.check(cmd)
		return next(ctx, cmd)
	}
}

func (c slotCheck) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			c.check(cmd)
		}
		return next(ctx, cmds)
	}
}

func (c slotCheck) check(cmd redis.Cmder) {
	if name := cmd.Name(); name != "eval" && name != "evalsha" {
		return
	}
	args := cmd.Args()
	var count int
	if _, err := fmt.Sscan(fmt.Sprint(args[2]), &count); err != nil || len(args) < 3+count {
		c.t.Errorf("script call with a bad number of keys: %v", args[2])
		return
	}
	for _, key := range args[3:][:count] {
		if tag(fmt.Sprint(key)) != tag(fmt.Sprint(args[3])) {
			c.t.Errorf("keys of one script on different slots: %v and %v", args[3], key)
		}
	}
}

// tag is what Redis hashes of a key.
func tag(key string) string {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if inner, _, ok := strings.Cut(rest, "}"); ok && inner != "" {
			return inner
		}
	}
	return key
}
