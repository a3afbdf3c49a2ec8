package cuts

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestTextCacheIsBounded(t *testing.T) {
	t.Parallel()
	var c textCache
	random := rand.New(rand.NewPCG(1, 2))
	made := 0
	for range 30_000 {
		n := random.IntN(3 * maxTexts)
		text := []byte(strings.Repeat("x", n%1200) + fmt.Sprint(n))
		if n%100 > 0 {
			text = text[n%1200:]
		}
		if got := c.get(text, func() uint32 { made++; return uint32(n) }); got != uint32(n) {
			t.Fatalf("%s is %d", text, got)
		}
	}
	if made < 3*maxTexts || made == 30_000 || len(c.known) > maxTexts || cap(c.texts.bytes) > 2*maxTextBytes || len(c.texts.slots) > 4*maxTexts {
		t.Errorf("%d of 30000 were made; %d texts of %d bytes in %d slots", made, len(c.known), cap(c.texts.bytes), len(c.texts.slots))
	}
}
